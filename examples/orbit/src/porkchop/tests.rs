//! Published transfers, and invalid windows.

use super::*;

fn window(departure: [&str; 2], arrival: [&str; 2], samples_per_axis: usize) -> TransferWindow {
    let [departure_start, departure_end] = departure.map(str::to_owned);
    let [arrival_start, arrival_end] = arrival.map(str::to_owned);
    TransferWindow { departure_start, departure_end, arrival_start, arrival_end, samples_per_axis }
}

fn lowest_c3(window: &TransferWindow) -> PorkchopCell {
    let grid = window.grid().unwrap();
    grid.cells().min_by(|one, other| one.value.c3.total_cmp(&other.value.c3)).unwrap().value.clone()
}

/// Burke, Falck and McGuire, "Interplanetary Mission Design Handbook: Earth-to-Mars Mission Opportunities 2026 to 2045"
/// (NASA/TM-2010-216764): the lowest energy of 2026 is 9.144 km²/s², from October 31 to August 19, 2027, of type II.
#[test]
fn the_lowest_energy_of_2026() {
    let best = lowest_c3(&window(["2026-10-01", "2026-11-30"], ["2027-07-20", "2027-09-18"], 61));
    assert!((best.c3 / 9.144 - 1.0).abs() < 0.01, "{best:?}");
    // The minimum is flat: a day earlier or later costs less than a thousandth.
    assert!(("2026-10-30"..="2026-11-01").contains(&best.departure.as_str()), "{best:?}");
    assert!(("2027-08-18"..="2027-08-20").contains(&best.arrival.as_str()), "{best:?}");
    assert_eq!(best.transfer_type, TransferType::II);
}

/// The energy minima of the same handbook for two opportunities, with the speed at arrival. The remaining
/// difference is the Moon, which moves Earth by 12 m/s: from the barycentre of both, C3 agrees to a thousandth.
#[test]
fn the_minima_of_the_handbook() {
    for (departure, arrival, transfer_type, c3, v_inf_arrival) in [
        ("2026-10-31", "2027-08-19", TransferType::II, 9.144, 2.729),
        ("2026-11-14", "2027-08-09", TransferType::I, 11.11, 2.915),
        ("2028-12-02", "2029-10-16", TransferType::II, 8.928, 3.261),
        ("2028-12-10", "2029-07-20", TransferType::I, 9.048, 4.892),
    ] {
        let grid = window([departure, "2030-01-01"], [arrival, "2030-01-01"], 2).grid().unwrap();
        let found = grid.cells().next().unwrap().value.clone();
        assert_eq!((found.departure.as_str(), found.arrival.as_str()), (departure, arrival));
        assert_eq!(found.transfer_type, transfer_type);
        assert!((found.c3 / c3 - 1.0).abs() < 0.01, "{found:?}");
        assert!((found.v_inf_arrival / v_inf_arrival - 1.0).abs() < 0.001, "{found:?}");
    }
}

/// A burn from 300 km above Earth that just escapes takes 0.414 of the orbital speed, which is 7.726 km/s.
#[test]
fn total_dv_is_both_burns() {
    let cell = lowest_c3(&TransferWindow { samples_per_axis: 5, ..TransferWindow::default() });
    assert!((burn(EARTH, 0.0) - 7.725_76 * (2.0_f64.sqrt() - 1.0)).abs() < 1e-4, "{}", burn(EARTH, 0.0));
    let both = burn(EARTH, cell.c3.sqrt()) + burn(MARS, cell.v_inf_arrival);
    assert!((cell.total_dv - both).abs() < 1e-12, "{cell:?}");
}

#[test]
fn departures_are_rows_and_both_ends_are_kept() {
    let grid = TransferWindow { samples_per_axis: 3, ..TransferWindow::default() }.grid().unwrap();
    let dates: Vec<(&str, &str)> =
        grid.cells().map(|cell| (cell.value.departure.as_str(), cell.value.arrival.as_str())).collect();
    assert_eq!(dates.len(), 9);
    assert_eq!((dates[0], dates[8]), (("2026-08-22", "2027-05-03"), ("2027-01-14", "2028-01-19")));
    assert_eq!(dates[4], ("2026-11-02T12:00:00Z", "2027-09-10T12:00:00Z"));
    assert!(dates.is_sorted());
}

#[test]
fn arrivals_before_departures_are_infeasible() {
    let grid = window(["2026-10-01", "2026-12-01"], ["2026-10-31", "2026-11-30"], 10).grid().unwrap();
    assert!(grid.cells().count() < 100);
    assert!(grid.cells().all(|cell| cell.value.tof_days > 0.0 && cell.value.total_dv.is_finite()));
}

#[test]
fn invalid_windows_are_errors() {
    let error = |window: TransferWindow| window.grid().unwrap_err().to_string();
    for samples in [0, 1, 101] {
        assert_eq!(
            error(TransferWindow { samples_per_axis: samples, ..TransferWindow::default() }),
            format!("samples_per_axis is {samples}; it must be from 2 to 100 (default 30)")
        );
    }
    assert_eq!(
        error(window(["2026-10-01", "2026-10-01"], ["2027-05-01", "2027-06-01"], 9)),
        "departure_start is 2026-10-01; it must be before departure_end, 2026-10-01"
    );
    assert_eq!(
        error(window(["2026-10-01", "2026-11-01"], ["2026-05-01", "2026-09-01"], 9)),
        "arrival_end is 2026-09-01; it must be after departure_start, 2026-10-01; a transfer to Mars takes \
         100 to 400 days, so set all four dates of the window"
    );
    let message = error(window(["2026-02-30", "2026-11-01"], ["2027-05-01", "2027-09-01"], 9));
    assert!(message.starts_with("departure_start is \"2026-02-30\", which is not a valid date"), "{message}");
}

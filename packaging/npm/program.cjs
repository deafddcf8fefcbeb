'use strict';
// The path of the program in the package for this platform; undefined if npm has not installed one.
const name = `@tidegate/${process.platform}-${process.arch}`;
const suffix = process.platform === 'win32' ? '.exe' : '';
exports.platform = `${process.platform}-${process.arch}`;
try {
  exports.program = require.resolve(`${name}/bin/tidegate${suffix}`);
} catch {
  exports.program = undefined;
}

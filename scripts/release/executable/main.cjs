// The first code of the single executable, behind that of modules.cjs: starts the program, or a script in Node as it would run by
// itself (`--as-node`, see `src/base/program/node-script.ts`), which is how the program starts its small helpers.
if (process.argv[2] === '--as-node') {
  const [flag, ...args] = process.argv.slice(3);
  const isCode = flag === '-e';
  const code = isCode ? args.shift() : require('node:fs').readFileSync(flag, 'utf8');
  process.argv = [process.execPath, ...(isCode ? [] : [flag]), ...args];
  require('node:vm').compileFunction(code, ['require'])(require);
} else import(`${ROOT}dist/program/podloop.js`);

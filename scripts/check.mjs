// What `npm test` asks of the sources before it runs anything: they compile, have the right types, style and format, export
// nothing that nobody uses, and the API reference is that of the build. Checks that do not need one another run side by side, each
// on a core of its own; the output of each comes out whole, at its end.
//
//   node scripts/check.mjs
import { spawn } from 'node:child_process';

/** npm scripts, in the order in which they run; those of one row beside one another. Types and lint read the build. */
const STEPS = [
  ['build', 'format:check'],
  ['typecheck', 'lint'],
  ['unused', 'docs:check'],
];

/** Runs one npm script and prints what it said once it has ended. Resolves with its exit code. */
function runScript(name) {
  return new Promise((resolve, reject) => {
    const beganMs = performance.now();
    const child = spawn('npm', ['run', '--silent', name], { stdio: ['ignore', 'pipe', 'pipe'] });
    const said = [];
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => said.push(chunk));
    child.once('error', reject);
    // 'close' comes after both streams have ended.
    child.once('close', (code) => {
      const verdict = code === 0 ? 'passed' : 'FAILED';
      const seconds = ((performance.now() - beganMs) / 1_000).toFixed(0);
      process.stdout.write(`npm run ${name}: ${verdict} in ${seconds} s\n`);
      process.stdout.write(Buffer.concat(said));
      resolve(code ?? 1);
    });
  });
}

for (const names of STEPS) {
  const codes = await Promise.all(names.map(runScript));
  // All of a row are waited for: whoever mends one thing wants to know of the other.
  process.exitCode = codes.find((code) => code !== 0) ?? 0;
  if (process.exitCode !== 0) break;
}

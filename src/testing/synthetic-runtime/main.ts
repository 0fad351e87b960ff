/**
 * The process of {@link spawnSyntheticRuntime}: serves until its parent lets go of the channel.
 *
 * @module
 */
import { rmSync } from 'node:fs';
import path from 'node:path';
import { answerControlRequest, type ControlMessage, type ControlRequest } from './control-channel.js';
import { serveSyntheticRuntime, type SyntheticRuntimeOptions } from './serve-synthetic-runtime.js';

function send(message: ControlMessage): void {
  // The parent may be gone; then nobody reads this, and `disconnect` ends this process.
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
}

const [socketPath, options] = process.argv.slice(2);
if (socketPath === undefined || options === undefined || process.send === undefined) {
  process.stderr.write('main.js is started by spawnSyntheticRuntime()\n');
  process.exit(2);
}
process.on('disconnect', () => {
  // The parent may have been killed; nobody else knows of the folder then.
  rmSync(path.dirname(socketPath), { recursive: true, force: true });
  process.exit(0);
});
try {
  const runtime = await serveSyntheticRuntime(socketPath, JSON.parse(options) as SyntheticRuntimeOptions);
  process.on('message', (request) => {
    void answerControlRequest(runtime.control, request as ControlRequest).then(send);
  });
  send({ kind: 'ready', endpoint: runtime.endpoint });
} catch (error) {
  send({ kind: 'failed', message: String(error) });
  process.exitCode = 1;
  process.disconnect();
}

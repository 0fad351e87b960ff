import { Server, ServerCredentials, status, type handleUnaryCall } from '@grpc/grpc-js';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

import { ContainerConfig, PodSandboxConfig } from '../../../src/watch/cri/generated/runtime/v1/cri.js';
import { CriDriver, runtimeService } from './cri-driver.js';

const SOCKET_TAKEN =
  'failed to start shim: start failed: io.containerd.runc.v2: create new shim socket: ' +
  'chmod failed for /run/containerd/s/6b75: chmod /run/containerd/s/6b75: no such file or directory';

let folder: string;
let server: Server;
let driver: CriDriver;
/** What the next starts answer with; success when it is empty. */
let refusals: string[];
let calls: string[];

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'podloop-driver-test-'));
  refusals = [];
  calls = [];
  let made = 0;
  const answer =
    <Request, Response>(handle: (request: Request) => Response): handleUnaryCall<Request, Response> =>
    ({ request }, respond) => {
      try {
        respond(null, handle(request));
      } catch (error) {
        respond({ code: status.UNKNOWN, details: String(error) });
      }
    };
  const { createContainer, startContainer, removeContainer } = runtimeService;
  server = new Server();
  server.addService(
    { createContainer, startContainer, removeContainer },
    {
      createContainer: answer(() => {
        calls.push(`create c${++made}`);
        return { containerId: `c${made}` };
      }),
      startContainer: answer(({ containerId }: { containerId: string }) => {
        calls.push(`start ${containerId}`);
        const refusal = refusals.shift();
        if (refusal !== undefined) throw new Error(refusal);
        return {};
      }),
      removeContainer: answer(({ containerId }: { containerId: string }) => {
        calls.push(`remove ${containerId}`);
        return {};
      }),
    },
  );
  const socket = path.join(folder, 'cri.sock');
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix://${socket}`, ServerCredentials.createInsecure(), (error) =>
      error === null ? resolve() : reject(error),
    );
  });
  driver = new CriDriver(socket);
});

afterEach(async () => {
  driver.close();
  server.forceShutdown();
  await rm(folder, { recursive: true });
});

const runContainer = (): Promise<string> =>
  driver.runContainer('pod', ContainerConfig.fromPartial({}), PodSandboxConfig.fromPartial({}));

it('makes a container anew whose shim lost its socket to another', async () => {
  refusals = [SOCKET_TAKEN, SOCKET_TAKEN];
  expect(await runContainer()).toBe('c3');
  expect(calls).toEqual([
    ...['create c1', 'start c1', 'remove c1', 'create c2', 'start c2', 'remove c2', 'create c3', 'start c3'],
  ]);
});

it('gives up after three more tries', async () => {
  refusals = Array.from({ length: 9 }, () => SOCKET_TAKEN);
  await expect(runContainer()).rejects.toThrow('chmod failed');
  expect(calls.filter((call) => call.startsWith('start'))).toHaveLength(4);
});

it('tries nothing again that failed for another reason', async () => {
  refusals = ['failed to create shim task: exec: "nothing": executable file not found in $PATH'];
  await expect(runContainer()).rejects.toThrow('executable file not found');
  expect(calls).toEqual(['create c1', 'start c1']);
});

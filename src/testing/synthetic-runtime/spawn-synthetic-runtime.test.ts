import { credentials } from '@grpc/grpc-js';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import {
  type ListContainersRequest,
  type ListContainersResponse,
  RuntimeServiceClient,
} from '../../watch/cri/generated/runtime/v1/cri.js';
import { spawnSyntheticRuntime } from './spawn-synthetic-runtime.js';

describe('a synthetic runtime in a process of its own', () => {
  it('serves what its control changes, and is gone with its folder when closed', async () => {
    const runtime = await spawnSyntheticRuntime({ pods: 5, containersPerPod: 3 });
    const client = new RuntimeServiceClient(runtime.endpoint, credentials.createInsecure());
    try {
      const [killed] = await runtime.control.kill({ count: 1 }, { exitCode: 2 });
      const list = promisify<ListContainersRequest, ListContainersResponse>(
        client.listContainers.bind(client),
      );
      const { containers } = await list({ filter: undefined });
      expect(containers.length).toBe(15);
      expect(containers.filter(({ state }) => state === 2).map(({ id }) => id)).toEqual([killed!.id]);
      expect(typeof killed!.finishedAtNs).toBe('bigint');
    } finally {
      client.close();
      await runtime.close();
    }
    await runtime.close();
    expect(existsSync(runtime.endpoint.replace('unix://', ''))).toBe(false);
    expect(() => process.kill(runtime.pid, 0)).toThrow('ESRCH');
    await expect(runtime.control.pods()).rejects.toThrow();
  });
});

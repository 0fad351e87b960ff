import { expect, it } from 'vitest';
import { setSlice } from './set-slice.js';

const NEVER = new AbortController().signal;

it('asks systemd to set properties of a slice, or to take them back, and rejects when it does not', async () => {
  await expect(setSlice('pods.slice', ['TasksMax=5'], NEVER, 'true')).resolves.toBeUndefined();
  const set = setSlice('pods.slice', ['TasksMax=5', 'MemoryMax=1'], NEVER, 'false');
  await expect(set).rejects.toThrow('set-property --runtime -- pods.slice TasksMax=5 MemoryMax=1');
  await expect(setSlice('pods.slice', [], NEVER, 'false')).rejects.toThrow(
    'revert --no-reload -- pods.slice',
  );
});

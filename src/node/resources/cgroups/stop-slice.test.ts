import { expect, it } from 'vitest';
import { stopSlice } from './stop-slice.js';

const NEVER = new AbortController().signal;

it('asks systemd to stop the slice, and rejects when it does not', async () => {
  await expect(stopSlice('podloop-ab.slice', NEVER, 'true')).resolves.toBeUndefined();
  await expect(stopSlice('podloop-ab.slice', NEVER, 'false')).rejects.toThrow('stop -- podloop-ab.slice');
  await expect(stopSlice('podloop-ab.slice', NEVER, '/nonexistent/systemctl')).rejects.toThrow('ENOENT');
});

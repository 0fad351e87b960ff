import { expect, it } from 'vitest';
import { formatRuntimeVersion } from './format-runtime-version.js';

it.each([
  ['2.1.0', '2.1.0'],
  ['v2.1.0', '2.1.0'],
  ['2.1.9+ds1', '2.1.9+ds1'],
  ['2.0.0-rc.1', '2.0.0-rc.1'],
  ['1.7.24~ds1', '1.7.24'],
  ['1.6.20~ds1-1+deb12u3', '1.6.20'],
  ['v1.30', '1.30'],
  ['02.1.0-rc.1', '02.1.0'],
  ['nightly', 'nightly'],
  ['', ''],
])('formats the version %j as a kubelet does', (version, told) => {
  expect(formatRuntimeVersion('containerd', version)).toBe(`containerd://${told}`);
});

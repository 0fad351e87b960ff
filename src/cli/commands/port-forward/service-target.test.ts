import { describe, expect, it } from 'vitest';
import { findServiceTarget } from './service-target.js';

const SERVICE = {
  metadata: { name: 'web' },
  spec: {
    ports: [
      { name: 'http', port: 80 },
      { name: 'dns', port: 53, protocol: 'UDP' },
    ],
  },
};
const READY = {
  subsets: [
    {
      addresses: [{ ip: '10.88.0.2', targetRef: { name: 'web-1' } }],
      ports: [{ name: 'http', port: 8080 }],
    },
  ],
};

describe('a port of a Service', () => {
  it('is the port of a ready pod that it leads to', () => {
    expect(findServiceTarget(['80', '9000:80', ':http'], SERVICE, READY)).toEqual({
      ...{ podName: 'web-1', ports: ['80:8080', '9000:8080', ':8080'] },
    });
  });

  it('is refused when there is none, or no pod', () => {
    expect(() => findServiceTarget(['81'], SERVICE, READY)).toThrow('does not have a service port 81');
    expect(() => findServiceTarget(['dns'], SERVICE, READY)).toThrow('UDP protocol is not supported');
    expect(() => findServiceTarget(['80'], SERVICE, {})).toThrow('no pod of the service "web" is ready');
  });
});

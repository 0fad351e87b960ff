import { describe, expect, it } from 'vitest';
import { aNode } from '#support/builders/node-facts-builder.js';
import { known } from '../looked.js';
import { connectionRules } from './connection-rules.js';

const away = (endpoint: string, error: string, code = 'CRI_UNAVAILABLE') => ({
  endpoint,
  connection: { connected: false, attempts: 9, failures: 9, watchedMs: 3_000, error, code },
});
const CONTAINERD = 'unix:///run/containerd/containerd.sock';

describe('a runtime that does not answer', () => {
  it.each([
    [CONTAINERD, 'systemctl start containerd)'],
    ['unix:///run/k3s/containerd/containerd.sock', 'systemctl start k3s, or k3s-agent, or rke2-server'],
    ['unix:///var/run/crio/crio.sock', 'systemctl start crio)'],
    ['unix:///var/lib/podloop/runtime/cri.sock', 'systemctl start podloop-runtime)'],
    ['unix:///run/cri-dockerd.sock', 'systemctl start cri-docker, or docker)'],
  ])('is started by its own unit, which interrupts no pod: %s', (endpoint, words) => {
    for (const code of ['CRI_UNAVAILABLE', 'ENDPOINT_NOT_FOUND']) {
      const [finding] = connectionRules(aNode({ runtime: away(endpoint, 'nobody listens', code) }));
      expect(finding!.remedy).toContain(words);
      expect(finding!.remedy).toContain('interrupts no pod');
    }
  });

  it('is starting where it says so, by its process where that is seen', () => {
    const runtime = away(CONTAINERD, 'version: rpc error: server is not initialized yet', 'CRI_UNKNOWN');
    const [unseen] = connectionRules(aNode({ runtime }));
    expect(unseen).toMatchObject({
      code: 'RuntimeNotRunning',
      remedy: expect.stringMatching(/^Wait/) as unknown,
    });
    expect(unseen!.message).toContain('is starting');
    const daemon = { pid: 77, command: 'containerd', state: 'S', waitsIn: '', forMs: 4_000 };
    const [seen] = connectionRules(aNode({ runtime, machine: { daemons: known({ runtime: daemon }) } }));
    expect(seen).toMatchObject({ code: 'RuntimeNotRunning', process: { pid: 77 } });
    expect(seen!.message).toContain('containerd (pid 77) was started 4s ago');
  });
});

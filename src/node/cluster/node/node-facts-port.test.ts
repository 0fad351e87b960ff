import { expect, it } from 'vitest';
import { cri } from '#watch';
import { resolveAgentOptions } from '../../options/resolve-agent-options.js';
import { buildNodeFactsPort } from './node-facts-port.js';

it('passes on what the runtime says that its handlers can do', async () => {
  const status = cri.StatusResponse.fromPartial({
    runtimeHandlers: [
      { name: '', features: { recursiveReadOnlyMounts: true, userNamespaces: true } },
      { name: 'plain', features: { recursiveReadOnlyMounts: true } },
      { name: 'old' },
    ],
    features: { supplementalGroupsPolicy: true },
  });
  const version = cri.VersionResponse.fromPartial({ runtimeName: 'containerd', runtimeVersion: '2.1.9' });
  const facts = buildNodeFactsPort({
    ...{ options: resolveAgentOptions({}), runtimeName: 'containerd', nodeName: 'n', hostname: 'n' },
    client: { status: () => Promise.resolve(status), version: () => Promise.resolve(version) },
    changes: { listImages: () => Promise.resolve([]) },
    kubeletPort: () => undefined,
  });
  expect(await facts.runtime(new AbortController().signal)).toEqual({
    version: 'containerd://2.1.9',
    handlers: [
      { name: '', features: { recursiveReadOnlyMounts: true, userNamespaces: true } },
      { name: 'plain', features: { recursiveReadOnlyMounts: true, userNamespaces: false } },
      { name: 'old', features: { recursiveReadOnlyMounts: false, userNamespaces: false } },
    ],
    supplementalGroupsPolicy: true,
  });
});

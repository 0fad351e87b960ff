import { describe, expect, it } from 'vitest';
import { type GivenAgentOptions, resolveAgentOptions } from '../resolve-agent-options.js';
import { kubeletConfigPage } from './kubelet-config-page.js';
import { readKubeletConfig } from './read-kubelet-config.js';

const CONFIG = `
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
staticPodPath: /etc/kubernetes/manifests
syncFrequency: 1m30s
containerLogMaxSize: 5Mi
resolvConf: ""
systemReserved: { cpu: 100m }
crashLoopBackOff: { maxContainerRestartPeriod: 20s }
`;

function shown(text: string): Record<string, unknown> {
  const page = JSON.parse(text) as { readonly kubeletconfig: Record<string, unknown> };
  return page.kubeletconfig;
}

describe('the page of the configuration', () => {
  const { config } = readKubeletConfig(CONFIG, '/config.yaml');

  it('shows what holds, wherever it comes from, in the fields of a KubeletConfiguration', () => {
    expect(shown(kubeletConfigPage(resolveAgentOptions({ maxPods: 7 }, config)))).toMatchObject({
      ...{ kind: 'KubeletConfiguration', staticPodPath: '/etc/kubernetes/manifests', syncFrequency: '1m30s' },
      ...{ containerLogMaxSize: '5Mi', resolvConf: '', systemReserved: { cpu: '100m' }, maxPods: 7 },
      crashLoopBackOff: { maxContainerRestartPeriod: '20s' },
      ...{ imageMinimumGCAge: '2m0s', readOnlyPort: 10_255 },
    });
  });

  it('is one that can be read again and means the same', () => {
    const options = resolveAgentOptions({ maxPods: 7, containerLogMaxSizeBytes: 1_234_567 }, config);
    const again = readKubeletConfig(JSON.stringify(shown(kubeletConfigPage(options))), '/again.json');
    expect(again.warnings).toEqual([]);
    const inForce = { readOnlyPort: 10_255, address: '127.0.0.1' };
    expect(resolveAgentOptions({}, again.config)).toEqual({ ...options, ...inForce });
  });

  it('shows where a node of a cluster is found', () => {
    const told = (given: GivenAgentOptions) => shown(kubeletConfigPage(resolveAgentOptions(given)));
    expect(told({ kubeconfig: '/k' })).toMatchObject({ address: '0.0.0.0', port: 10_250 });
    expect(told({ kubeconfig: '/k', address: '192.0.2.7', port: 7 })).toMatchObject({
      ...{ address: '192.0.2.7', port: 7 },
    });
    expect(told({})).toMatchObject({ address: '127.0.0.1', port: 0 });
  });

  it('shows no secret', () => {
    const page = kubeletConfigPage(
      resolveAgentOptions({
        manifestUrl: 'https://us3r:pa55@example.com/pods?token=s3cret&b=c0de',
        manifestUrlHeader: { Authorization: ['Bearer t0ken'] },
      }),
    );
    for (const secret of ['us3r', 'pa55', 's3cret', 'c0de', 't0ken']) expect(page).not.toContain(secret);
    expect(shown(page)['staticPodURLHeader']).toEqual({ Authorization: ['hidden'] });
    expect(shown(page)['staticPodURL']).toContain('example.com/pods?token=hidden');
  });
});

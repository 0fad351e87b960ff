import { describe, expect, it } from 'vitest';
import { aNode } from '#support/builders/node-facts-builder.js';
import { type CertificateFacts } from '../facts/read-certificates.js';
import { certificateRules } from './certificate-rules.js';

const DAY_MS = 24 * 3_600_000;
const NOW = aNode().atMs;
const aCertificate = (path: string, leftMs: number): CertificateFacts => ({
  ...{ path, subject: 'CN=node', fromMs: NOW + leftMs - 365 * DAY_MS, toMs: NOW + leftMs },
});
const judge = (...certificates: readonly CertificateFacts[]) =>
  certificateRules(aNode({ rest: { certificates } }));

describe('a certificate that has expired', () => {
  it.each([
    ['/etc/kubernetes/pki/apiserver.crt', 'critical', /^Renew it: kubeadm certs renew all/],
    [
      '/etc/kubernetes/kubelet.conf',
      'critical',
      /bootstrap kubeconfig.*restart the kubelet, over which pods go on/,
    ],
    ['/var/lib/kubelet/pki/kubelet-client-current.pem', 'critical', /over which pods go on/],
    ['/var/lib/rancher/k3s/agent/client-kubelet.crt', 'critical', /^Restart k3s.*pods go on over that/],
    [
      '/var/lib/podloop/pki/kubelet-client-current.pem',
      'critical',
      /journalctl -u podloop.*--bootstrap-kubeconfig/,
    ],
    ['/etc/kubernetes/controller-manager.conf', 'critical', /^Renew it: kubeadm certs renew all/],
    ['/etc/kubernetes/admin.conf', 'warning', /interrupts nothing: kubeadm certs renew admin\.conf;/],
    [
      '/etc/kubernetes/super-admin.conf',
      'warning',
      /interrupts nothing: kubeadm certs renew super-admin\.conf;/,
    ],
    ['/var/lib/kubelet/pki/kubelet.crt', 'info', /kubelet\.key beside it.*over which pods go on/],
  ])('is as bad as who needs it, and renewed by whom it is: %s', (path, severity, remedy) => {
    const [finding, ...others] = judge(aCertificate(path, -3 * DAY_MS));
    expect(others).toEqual([]);
    expect(finding).toMatchObject({ code: 'CertificateExpired', severity, sinceMs: NOW - 3 * DAY_MS });
    expect(finding!.remedy).toMatch(remedy);
  });

  it('is nobody’s where the kubelet has got another one to serve with', () => {
    const [own, current] = ['kubelet.crt', 'kubelet-server-current.pem'].map((name, at) =>
      aCertificate(`/var/lib/kubelet/pki/${name}`, (at === 0 ? -3 : 300) * DAY_MS),
    );
    expect(judge(own!, current!)).toEqual([]);
  });
});

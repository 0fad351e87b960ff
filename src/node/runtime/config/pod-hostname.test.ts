import { expect, it } from 'vitest';
import { aSpecPod } from '#support/builders/node-pods.js';
import { computeHostname, computeHostNames } from './pod-hostname.js';

it('the host name of a pod is its own, else its name, as short as Linux wants it', () => {
  const long = `${'a'.repeat(62)}-${'b'.repeat(10)}`;
  expect(computeHostname(aSpecPod({}, { name: long }), '')).toBe('a'.repeat(62));
  expect(computeHostname(aSpecPod({ hostname: 'h' }), '')).toBe('h');
  expect(computeHostname(aSpecPod({ hostname: 'h', subdomain: 's' }), 'cluster.local')).toBe('h');
});

it('a name that overrides the others may have dots, and there is no full name beside it', () => {
  const pod = aSpecPod({ hostname: 'h', subdomain: 's', hostnameOverride: 'over.example.org' });
  expect(computeHostNames(pod, 'cluster.local')).toEqual({ short: 'over.example.org', domain: '' });
  expect(computeHostname(pod, 'cluster.local')).toBe('over.example.org');
  const long = aSpecPod({ hostnameOverride: `${'a'.repeat(62)}.b` });
  expect(computeHostname(long, '')).toBe('a'.repeat(62));
});

it('the host name is the full one where the pod asks for that and has a subdomain', () => {
  const full = aSpecPod({ hostname: 'h', subdomain: 's', setHostnameAsFQDN: true });
  expect(computeHostname(full, 'cluster.local')).toBe('h.s.default.svc.cluster.local');
  expect(computeHostname(full, '')).toBe('h.s.default.svc');
  expect(computeHostname(aSpecPod({ hostname: 'h', setHostnameAsFQDN: true }), 'cluster.local')).toBe('h');
  expect(computeHostNames(full, 'cluster.local')).toEqual({
    short: 'h',
    domain: 's.default.svc.cluster.local',
  });
});

it('a full name that the kernel does not take is refused in the kubelet’s words', () => {
  const pod = aSpecPod({ hostname: 'h'.repeat(40), subdomain: 's', setHostnameAsFQDN: true });
  const full = `${'h'.repeat(40)}.s.default.svc.cluster.local`;
  expect(() => computeHostname(pod, 'cluster.local')).toThrow(
    `failed to construct FQDN from pod hostname and cluster domain, FQDN ${full} is too long (64 characters is the max, 68 characters requested)`,
  );
});

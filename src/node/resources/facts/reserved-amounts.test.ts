import { expect, it } from 'vitest';
import { computeReserved } from './reserved-amounts.js';

const WRITTEN = {
  systemReserved: { cpu: '500m', memory: '1Gi' },
  kubeReserved: { cpu: '250m', pid: '100' },
};

it('what is reserved is what is written', () => {
  const { system, kube } = computeReserved({ ...WRITTEN, reservedSystemCpus: '' });
  expect(system).toEqual({ cpu: '500m', memory: '1Gi' });
  expect(kube).toEqual({ cpu: '250m', pid: '100' });
});

it('reserved processors replace the CPU of both, and nothing else', () => {
  const { system, kube } = computeReserved({ ...WRITTEN, reservedSystemCpus: '0-1,7' });
  expect(system).toEqual({ cpu: '3', memory: '1Gi' });
  expect(kube).toEqual({ pid: '100' });
});

import { expect, it } from 'vitest';
import { serviceAccountConfig } from './service-account-config.js';

it('the API server of a pod is the one in its environment, asked with the token of its service account', () => {
  const environment = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' };
  expect(serviceAccountConfig(environment, '/account')).toEqual({
    file: '/account',
    server: 'https://[fd00::1]:443',
    authority: { file: '/account/ca.crt' },
    insecure: false,
    user: { tokenFile: '/account/token', impersonation: {} },
  });
});

it.each([
  {},
  { KUBERNETES_SERVICE_HOST: '10.96.0.1' },
  { KUBERNETES_SERVICE_HOST: '', KUBERNETES_SERVICE_PORT: '1' },
])('outside of a pod is an error that says so: %o', (environment) => {
  expect(() => serviceAccountConfig(environment)).toThrow('can only be used in a pod');
});

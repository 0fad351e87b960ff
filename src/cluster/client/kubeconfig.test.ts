import { describe, expect, it } from 'vitest';
import { readKubeconfig } from './kubeconfig.js';

const FILE = '/etc/podloop/kubeconfig';
const PEM = Buffer.from('-----BEGIN CERTIFICATE-----\n').toString('base64');

function write(
  user: string,
  cluster = 'server: https://10.0.0.1:6443',
  context = 'cluster: c, user: u',
): string {
  return `apiVersion: v1
kind: Config
preferences: {}
current-context: here
contexts:
- name: here
  context: { ${context} }
clusters:
- name: c
  cluster: { ${cluster} }
users:
- name: u
  user: { ${user} }
`;
}

const failure = (text: string): string => {
  try {
    readKubeconfig(text, FILE);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('it was read');
};

describe('a kubeconfig', () => {
  it('names a server and who asks, with paths from its own folder', () => {
    const user = 'client-certificate: pki/node.crt, client-key: /k/node.key, tokenFile: ../token';
    const cluster =
      'server: "https://api.lab/prefix/", certificate-authority: ca.crt, tls-server-name: x.lab';
    expect(readKubeconfig(write(user, cluster), FILE)).toEqual({
      ...{ file: FILE, server: 'https://api.lab/prefix', insecure: false, serverName: 'x.lab' },
      authority: { file: '/etc/podloop/ca.crt' },
      user: {
        certificate: { file: '/etc/podloop/pki/node.crt' },
        key: { file: '/k/node.key' },
        tokenFile: '/etc/token',
        impersonation: {},
      },
    });
  });

  it('may hold certificates itself, which come before files', () => {
    const cluster = `server: https://a, certificate-authority-data: ${PEM}, certificate-authority: ca.crt`;
    expect(readKubeconfig(write('token: abc', cluster), FILE)).toMatchObject({
      authority: { text: '-----BEGIN CERTIFICATE-----\n' },
      user: { token: 'abc' },
    });
  });

  it('may name a proxy on the way to its server', () => {
    const cluster = 'server: https://a, proxy-url: "http://me:pass@proxy.lab:3128"';
    expect(readKubeconfig(write('', cluster), FILE)).toMatchObject({
      proxyUrl: 'http://me:pass@proxy.lab:3128',
    });
    expect(readKubeconfig(write('', 'server: https://a, proxy-url: ""'), FILE)).not.toHaveProperty(
      'proxyUrl',
    );
  });

  it('may be one that Go has written, with null for what is not there', () => {
    const exec =
      'exec: {apiVersion: client.authentication.k8s.io/v1, command: ./get-token, args: null, env: null, provideClusterInfo: false, interactiveMode: IfAvailable}';
    expect(readKubeconfig(write(exec), FILE).user.exec).toEqual({
      ...{ apiVersion: 'client.authentication.k8s.io/v1', command: '/etc/podloop/get-token' },
      ...{ args: [], env: {}, installHint: '', provideClusterInfo: false },
    });
  });

  it('may ask to be treated as somebody else', () => {
    const user = 'token: t, as: jane, as-groups: [a, b], as-user-extra: {"x/y": [z]}';
    expect(readKubeconfig(write(user), FILE).user.impersonation).toEqual({
      ...{ 'impersonate-user': 'jane', 'impersonate-group': ['a', 'b'] },
      'impersonate-extra-x%2Fy': ['z'],
    });
  });

  it('may have nobody ask', () => {
    expect(readKubeconfig(write('', undefined, 'cluster: c'), FILE).user).toEqual({ impersonation: {} });
  });

  it.each([
    [write('tokn: x'), `${FILE}:13: users[0].user.tokn: unknown field, did you mean token?`],
    [write('token: 12345'), 'users[0].user.token: must be a string; put it in quotes'],
    [write('client-certificate: a.crt'), 'client-key: is missing, and client-certificate alone is of no use'],
    [write('client-key-data: AAAA, client-certificate: a'), 'client-key-data: must be PEM in base64'],
    [write('auth-provider: {name: gcp}'), 'auth-provider: was removed from Kubernetes; use exec'],
    [write('as-groups: [a]'), 'as: is missing'],
    [write('exec: {command: x}'), 'exec.apiVersion: is missing'],
    [
      write('exec: {apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Always}'),
      'interactiveMode: must be Never or IfAvailable',
    ],
    [write('', 'server: 10.0.0.1:6443'), 'clusters[0].cluster.server: must be a URL such as'],
    [write('', 'server: "https://a:b@c"'), 'must not hold a name or password'],
    [write('', 'server: https://a, proxy-url: "http://u:12345@p:x"'), 'proxy-url: must be a URL such as'],
    [write('', 'server: https://a, proxy-url: "p:3128"'), 'proxy-url: must be a URL such as'],
    [write('', 'server: https://a, proxy-url: "socks5://u:12345@p"'), 'proxy-url: SOCKS is not supported'],
    [
      write('', 'server: https://a, insecure-skip-tls-verify: true, certificate-authority: x'),
      'must not be true beside a certificate authority',
    ],
    [
      write('', undefined, 'cluster: d, user: u'),
      'contexts[0].context.cluster: there is no cluster "d" in clusters',
    ],
    [write('').replace('here', ''), 'current-context: is missing'],
    [write('').replace('here', 'there'), 'current-context: there is no context "there" in contexts'],
    ['kind: Pod\n', 'kind: must be Config, not "Pod"'],
    ['', 'the file is empty'],
  ])('is refused with the place of what is wrong in it: %j', (text, message) => {
    expect(failure(text)).toContain(message);
    expect(failure(text)).toMatch(/^\/etc\/podloop\/kubeconfig:\d+: /);
    expect(failure(text)).not.toContain('12345');
  });
});

import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { messageOf } from '#base/errors/errors.js';
import { parseProviderConfig, readProviderConfig } from './provider-config.js';

const HEAD = 'apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\nproviders:\n';
const ECR = `  - name: ecr-credential-provider
    apiVersion: credentialprovider.kubelet.k8s.io/v1
    matchImages: ['*.dkr.ecr.*.amazonaws.com', registry.lab:5000/team]
    defaultCacheDuration: 12h0m0s
    args: [get-credentials]
    env: [{ name: AWS_PROFILE, value: node }]
`;
const TOKENS = `    tokenAttributes:
      { serviceAccountTokenAudience: r, cacheType: Token, requireServiceAccount: true }
`;

function problemOf(text: string, isInCluster = false): string {
  try {
    parseProviderConfig(text, '/etc/p.yaml', { binDir: '/bin', isInCluster });
    return '';
  } catch (error) {
    return messageOf(error);
  }
}

describe('a configuration of credential provider plugins', () => {
  it('is read as a kubelet reads it', () => {
    const [provider] = parseProviderConfig(HEAD + ECR, 'p.yaml', { binDir: '/opt/bin', isInCluster: false });
    expect(provider).toEqual({
      ...{ name: 'ecr-credential-provider', file: '/opt/bin/ecr-credential-provider' },
      apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
      matchImages: ['*.dkr.ecr.*.amazonaws.com', 'registry.lab:5000/team'],
      defaultCacheMs: 12 * 3_600_000,
      args: ['get-credentials'],
      env: [{ name: 'AWS_PROFILE', value: 'node' }],
      tokenAttributes: undefined,
    });
    expect(problemOf(HEAD + ECR + TOKENS, true)).toBe('');
  });

  it.each([
    ['', '/etc/p.yaml: there is nothing in it; write one CredentialProviderConfig'],
    [HEAD, '/etc/p.yaml:3:11: providers: Required value'],
    [HEAD.replace('/v1', '/v2') + ECR, '/etc/p.yaml:1:13: apiVersion: '],
    [HEAD + ECR.replace('args', 'arguments'), '/etc/p.yaml:8:5: providers[0].arguments: unknown field'],
    [
      HEAD + ECR.replace('12h0m0s', 'long'),
      ':7:27: providers[0].defaultCacheDuration: Invalid value: "long": must be a duration',
    ],
    [HEAD + ECR.replace('12h0m0s', '-1s'), 'must not be negative'],
    [
      HEAD + ECR.replace('ecr-c', '../c'),
      'providers[0].name: Invalid value: "../credential-provider": must be the name of a file',
    ],
    [HEAD + ECR + ECR, ':10:11: providers[1].name: Duplicate value: "ecr-credential-provider"'],
    [
      HEAD + ECR.replace("'*.dkr", "'[ab].dkr"),
      'providers[0].matchImages[0]: Invalid value: "[ab].dkr.ecr.*.amazonaws.com": must have no brackets in its host',
    ],
    [
      HEAD + ECR.replace("'*.dkr", "'https://*.dkr"),
      'providers[0].matchImages[0]: Invalid value: "https://*.dkr.ecr.*.amazonaws.com": must have no scheme',
    ],
    [HEAD + ECR.replace('credentialprovider.kubelet.k8s.io/v1', 'v1'), 'providers[0].apiVersion: '],
    [
      HEAD + ECR + TOKENS,
      'providers[0].tokenAttributes: Invalid value: "": there are no tokens of service accounts without a cluster',
    ],
  ])('names file and place of what is wrong: %#', (text, message) => {
    expect(problemOf(text)).toContain(message);
  });

  it.each([
    ['required: [a.example/b, Other.Example/C], optional: [d]', ''],
    ['required: [a b]', '.requiredServiceAccountAnnotationKeys[0]: Invalid value: "a b": '],
    ['required: [a], optional: [b, a]', '.optionalServiceAccountAnnotationKeys[1]: Duplicate value: "a"'],
    ['optional: [a, a]', '.optionalServiceAccountAnnotationKeys[1]: Duplicate value: "a"'],
    ['required: [a], requireServiceAccount: false', ': needs requireServiceAccount: true'],
  ])('checks the keys of annotations: %s', (keys, message) => {
    const written = keys.replaceAll(/(required|optional):/g, '$1ServiceAccountAnnotationKeys:');
    const tokens = written.includes('false') ? TOKENS.replace(', requireServiceAccount: true', '') : TOKENS;
    const problem = problemOf(HEAD + ECR + tokens.replace(' }', `, ${written} }`), true);
    if (message === '') expect(problem).toBe('');
    else expect(problem).toContain(message);
  });

  it('shows no value of the environment', () => {
    expect(problemOf(HEAD + ECR.replace('value: node', 'value: [hunter2]'))).not.toContain('hunter2');
  });
});

describe('the files of a configuration', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'podloop-providers-'));
    await mkdir(join(folder, 'config'));
    for (const name of ['one', 'two']) {
      await writeFile(join(folder, name), '#!/bin/sh\n', { mode: 0o755 });
      const text = HEAD + ECR.replace('ecr-credential-provider', name);
      await writeFile(join(folder, 'config', `${name}.yaml`), text);
    }
  });
  afterEach(() => rm(folder, { recursive: true }));

  const read = (config: string, binDir = folder) =>
    readProviderConfig({ config, binDir, isInCluster: false });

  it('may be one, or all of a folder', async () => {
    expect(await read('', '')).toEqual({ providers: [], hash: undefined });
    const both = await read(join(folder, 'config'));
    expect(both.providers.map(({ name }) => name)).toEqual(['one', 'two']);
    const { providers, hash } = await read(join(folder, 'config', 'two.yaml'));
    expect(providers).toHaveLength(1);
    // The length of a file in eight bytes, and its content.
    const content = await readFile(join(folder, 'config', 'two.yaml'));
    const length = Buffer.alloc(8);
    length.writeUInt32BE(content.length, 4);
    expect(hash).toBe(`sha256:${createHash('sha256').update(length).update(content).digest('hex')}`);
    expect(both.hash).not.toBe(hash);
  });

  it('are errors where they, or the programs, cannot be used', async () => {
    await expect(read('', folder)).rejects.toThrow(
      'has no effect without --image-credential-provider-config',
    );
    await expect(read(join(folder, 'config'), '')).rejects.toThrow(
      'without --image-credential-provider-bin-dir',
    );
    await expect(read(join(folder, 'none.yaml'))).rejects.toThrow(`${folder}/none.yaml cannot be read`);
    await chmod(join(folder, 'two'), 0o644);
    await expect(read(join(folder, 'config', 'two.yaml'))).rejects.toThrow(`${folder}/two is no program`);
    await rm(join(folder, 'two'));
    await expect(read(join(folder, 'config'))).rejects.toThrow(`${folder}/two is not there`);
    await writeFile(join(folder, 'config', 'two.yaml'), HEAD + ECR.replace('ecr-credential-provider', 'one'));
    await expect(read(join(folder, 'config'))).rejects.toThrow('the provider "one" is in another file, too');
  });
});

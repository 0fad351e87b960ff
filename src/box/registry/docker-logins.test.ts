import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { DockerLogins } from './docker-logins.js';

const NEVER = new AbortController().signal;
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-logins-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

it.each([
  ['echo "secret, and no JSON"', 'the answer of docker-credential-lab cannot be read: it is not JSON'],
  ['echo secret; echo secret >&2; exit 3', 'docker-credential-lab failed (3)'],
])('are none where a helper does %j, and the log names the helper and repeats nothing', async (does, why) => {
  await writeFile(join(folder, 'docker-credential-lab'), `#!/bin/sh\n${does}\n`, { mode: 0o755 });
  await writeFile(join(folder, 'config.json'), JSON.stringify({ credsStore: 'lab' }));
  const environment = { DOCKER_CONFIG: folder, PATH: `${folder}:${process.env['PATH']}` };
  const logger = new LogRecorder();
  expect(await new DockerLogins({ environment, logger }).find('registry.lab', 'app', NEVER)).toBeUndefined();
  expect(logger.complaints).toMatchObject([{ fields: { registry: 'registry.lab', err: why } }]);
  expect(JSON.stringify(logger.complaints)).not.toContain('secret');
});

const encode = (login: string): object => ({ auth: Buffer.from(login).toString('base64') });

it.each([
  ['registry.lab', 'app', 'whole'],
  ['registry.lab', 'team/app', 'team'],
  ['registry.lab', 'teams/app', 'whole'],
  ['registry.lab', 'team/deep/app', 'deep'],
  ['other.lab', 'team/app', undefined],
  ['docker.io', 'library/nginx', 'hub'],
])('of %s for %s are those of the closest place: %s', async (registry, repository, username) => {
  const auths = {
    'registry.lab/team': encode('team:x'),
    'registry.lab': encode('whole:x'),
    'https://registry.lab/team/deep/': encode('deep:x'),
    'other.lab/elsewhere': encode('elsewhere:x'),
    'https://index.docker.io/v1/': encode('hub:x'),
  };
  await writeFile(join(folder, 'config.json'), JSON.stringify({ auths }));
  const logins = new DockerLogins({ environment: { DOCKER_CONFIG: folder }, logger: new LogRecorder() });
  expect(await logins.find(registry, repository, NEVER)).toEqual(
    username === undefined ? undefined : { kind: 'password', username, password: 'x' },
  );
});

import { execFile } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { readIfThere } from '#base/fs/whole-file.js';
import { type Logger } from '#base/log/logger.js';
import { messageOf } from '#base/errors/errors.js';
import {
  decodeDockerAuth,
  type DockerLogin,
  type DockerLoginFile,
  parseDockerLogins,
  parseSecretObject,
  readDockerLogin,
} from '#base/text/docker-login-file.js';
import { type Environment } from './registry-http.js';

/** Credentials for a registry: a name with a password, or what `docker login` or a cloud gave instead of one. */
export type Login =
  | { readonly kind: 'password'; readonly username: string; readonly password: string }
  /** To be exchanged for tokens. */
  | { readonly kind: 'identity'; readonly token: string }
  /** The token itself. */
  | { readonly kind: 'registry'; readonly token: string };

/** As they stand in a request of CRI, and, without `auth`, in Docker's file. */
export interface LoginFields extends DockerLogin {
  /** `username:password` in base64; counts where there is no username. */
  readonly auth: string;
}

const HELPER_TIMEOUT_MS = 30_000;
const MAX_HELPER_BYTES = 64 * 1024;

/** What fields say together; undefined for nothing. Throws for what cannot be read, without repeating it. */
export function toLogin(fields: Partial<LoginFields>): Login | undefined {
  const { username = '', password = '', auth = '', identityToken = '', registryToken = '' } = fields;
  if (registryToken !== '') return { kind: 'registry', token: registryToken };
  if (identityToken !== '') return { kind: 'identity', token: identityToken };
  if (username !== '') return { kind: 'password', username, password };
  if (auth !== '') return { kind: 'password', ...decodeDockerAuth(auth) };
  return password === '' ? undefined : { kind: 'password', username, password };
}

/**
 * The logins of `docker login`: `config.json` in the folder that `DOCKER_CONFIG` names, else in `~/.docker`, and the
 * helpers that it names (`docker-credential-…`). The file is read each time: who logs in needs no restart.
 */
export class DockerLogins {
  readonly #environment: Environment;
  readonly #logger: Logger;

  constructor({ environment, logger }: { readonly environment: Environment; readonly logger: Logger }) {
    this.#environment = environment;
    this.#logger = logger;
  }

  /**
   * For a registry such as `docker.io` or `mirror.lab:5000`, and a repository in it: some tools write logins for a part of a
   * registry. What cannot be read is logged, and is no login.
   */
  async find(registry: string, repository: string, signal: AbortSignal): Promise<Login | undefined> {
    const { DOCKER_CONFIG: chosen, HOME: home = homedir() } = this.#environment;
    const file = join(chosen !== undefined && chosen !== '' ? chosen : join(home, '.docker'), 'config.json');
    try {
      const text = await readIfThere(file);
      if (text === undefined) return undefined;
      return await this.#findIn(parseDockerLogins(text, 'config.json'), { registry, repository }, signal);
    } catch (error) {
      signal.throwIfAborted();
      this.#logger.warn('A login for a registry cannot be read', { registry, file, err: messageOf(error) });
      return undefined;
    }
  }

  async #findIn(
    { entries, helpers, store }: DockerLoginFile,
    { registry, repository }: { readonly registry: string; readonly repository: string },
    signal: AbortSignal,
  ): Promise<Login | undefined> {
    const [place, helper] = findClosest(helpers, registry, repository) ?? [undefined, store];
    const name = registry === 'docker.io' ? 'https://index.docker.io/v1/' : registry;
    if (helper !== undefined && helper !== '') {
      const login = await this.#askHelper(helper, place ?? name, signal);
      if (login !== undefined) return login;
    }
    const entry = findClosest(entries, registry, repository);
    return entry && toLogin(readDockerLogin(entry[1]));
  }

  /** Source: https://github.com/docker/docker-credential-helpers#development */
  async #askHelper(helper: string, place: string, signal: AbortSignal): Promise<Login | undefined> {
    if (!/^[\w.-]+$/.test(helper)) throw new Error('the name of a credential helper is no name of a program');
    const program = `docker-credential-${helper}`;
    const said = await new Promise<string>((resolve, reject) => {
      const limits = {
        timeout: HELPER_TIMEOUT_MS,
        maxBuffer: MAX_HELPER_BYTES,
        killSignal: 'SIGKILL',
      } as const;
      const options = { ...limits, env: { ...this.#environment }, signal };
      const child = execFile(program, ['get'], options, (error, stdout) => {
        if (error === null) resolve(stdout);
        // The helper's words for "none".
        else if (/credentials not found/.test(stdout)) resolve('{}');
        // Nothing of what it said: it may be a secret.
        else
          reject(
            new Error(
              `${program} ${error.killed === true ? 'does not answer' : `failed (${error.code ?? error.signal})`}`,
            ),
          );
      });
      child.stdin?.on('error', () => undefined);
      child.stdin?.end(place);
    });
    const { Username: username, Secret: secret } = readAnswer(program, said);
    if (typeof username !== 'string' || typeof secret !== 'string' || secret === '') return undefined;
    return username === '<token>'
      ? { kind: 'identity', token: secret }
      : { kind: 'password', username, password: secret };
  }
}

function readAnswer(program: string, said: string): Readonly<Record<string, unknown>> {
  try {
    return parseSecretObject(said);
  } catch (error) {
    throw new Error(`the answer of ${program} cannot be read: ${messageOf(error)}`);
  }
}

/** What is for the longest part of a repository: `registry.lab/team` before `registry.lab`. */
function findClosest<V>(
  places: ReadonlyMap<string, V>,
  registry: string,
  repository: string,
): readonly [string, V] | undefined {
  const pathOf = (place: string): string =>
    place.replace(/^https?:\/\//, '').replace(/^[^/]*(\/v[12]\/?$)?/, '');
  return [...places]
    .filter(([place]) => isPlaceOf(place, registry))
    .map(([place, value]) => ({ place, value, path: pathOf(place).replace(/\/+$/, '') }))
    .filter(({ path }) => `/${repository}/`.startsWith(`${path}/`))
    .sort((one, other) => other.path.length - one.path.length)
    .map(({ place, value }) => [place, value] as const)[0];
}

/** Whether `https://index.docker.io/v1/`, `registry.lab:5000`, … is a registry. */
export function isPlaceOf(place: string, registry: string): boolean {
  const host = place.replace(/^https?:\/\//, '').replace(/\/.*$/, '');
  return (
    host === registry ||
    (registry === 'docker.io' && ['index.docker.io', 'registry-1.docker.io'].includes(host))
  );
}

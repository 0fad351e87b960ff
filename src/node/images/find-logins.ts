import { matchesWildcards } from '#base/text/matches-wildcards.js';
import { type RegistryLogin } from './docker-config.js';
import { repositoryOf } from '#kube/container/image-name.js';

/** A login, or a stand-in for one, and the place that it is for. */
export type PlacedLogin<Login = RegistryLogin> = readonly [place: string, login: Login];

const DEFAULT_REGISTRY = 'docker.io';
/** The name that `docker login` uses. */
const DEFAULT_REGISTRY_LOGIN = 'index.docker.io';

/**
 * The logins for an image's registry, longer places first, to be tried until one succeeds. Pure.
 *
 * The rules are a kubelet's: a place matches by its host, in which each part may be a pattern such as
 * `*.example.org`, its port, and a prefix of its path. For images of Docker Hub, a login of `docker login`
 * counts, too.
 */
export function findLogins<Login>(image: string, logins: readonly PlacedLogin<Login>[]): Login[] {
  const repository = repositoryOf(image);
  if (repository === undefined) return [];
  const wanted = placeOf(repository);
  const places = logins
    .map(([place, login]) => ({ place: placeOf(place), login }))
    .sort(({ place: one }, { place: other }) => (one.text < other.text ? 1 : one.text > other.text ? -1 : 0));
  const found = places.filter(({ place }) => isFor(place, wanted));
  if (found.length > 0 || wanted.host.join('.') !== DEFAULT_REGISTRY) return found.map(({ login }) => login);
  return places.filter(({ place }) => place.text === DEFAULT_REGISTRY_LOGIN).map(({ login }) => login);
}

/**
 * Whether a place, in which each part of the host may be a pattern such as `*.example.org`, is one for a repository. Pure.
 */
export function matchesPlace(place: string, repository: string): boolean {
  return isFor(placeOf(place), placeOf(repository));
}

interface Place {
  /** Without a scheme and without `/v1/` or `/v2/`, which stand for the registry as a whole. */
  readonly text: string;
  readonly host: readonly string[];
  readonly port: string;
  readonly path: string;
}

function placeOf(written: string): Place {
  const bare = written.replace(/^https?:\/\//, '');
  const slash = bare.indexOf('/');
  const authority = slash === -1 ? bare : bare.slice(0, slash);
  const full = slash === -1 ? '' : bare.slice(slash);
  const cut = /^\/v[12]\//.test(full) ? full.slice(3) : full;
  const path = cut === '/' ? '' : cut;
  const [, name = '', port = ''] = /^(.*?)(?::(\d+))?$/.exec(authority) ?? [];
  return { text: `${authority}${path}`, host: name.split('.'), port, path };
}

function isFor(place: Place, wanted: Place): boolean {
  return (
    place.port === wanted.port &&
    place.host.length === wanted.host.length &&
    wanted.path.startsWith(place.path) &&
    place.host.every((pattern, index) => matchesWildcards(pattern, wanted.host[index]!))
  );
}

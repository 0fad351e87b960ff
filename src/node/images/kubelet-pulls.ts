/**
 * Reads a kubelet's records of the images that it has pulled, when its node is taken over.
 *
 * ```
 *   image_manager/pulled/sha256-<hash of the image's reference>    how it was pulled: an ImagePulledRecord
 *   image_manager/pulling/sha256-<hash of the image's name>        a pull has begun: an ImagePullIntent
 * ```
 *
 * In: these files, which stay as they are. Out: the same in podloop's terms. A kubelet does not flush them to
 * disk before it renames them, so a power failure may leave some of them empty. An unreadable file counts as
 * an unknown pull: a record concerns the one image in the file's name; a beginning, or a folder, may concern
 * any.
 *
 * Its hashes of logins are different, so only the Secret of a login is used.
 *
 * Source: KEP-2535, https://www.kubernetes.dev/resources/keps/2535/, and
 * https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isRecord } from '#base/text/is-record.js';
import { type Logger } from '#base/log/logger.js';
import { namesIn } from '#base/fs/names-in.js';
import { repositoryOf } from '#kube/container/image-name.js';
import { type ObjectId } from './pull-logins.js';
import { keyOf } from './pull-record-files.js';
import { type PulledNames, type UsedLogin, withOthers } from './pulled-names.js';

/** See the module. */
export interface KubeletPulls {
  /** By the key of the image's id, like podloop's own records. */
  readonly pulled: ReadonlyMap<string, { readonly id: string | undefined; readonly names: PulledNames }>;
  /** Names of images whose pull has begun, without a record of its end. */
  readonly begun: readonly string[];
  /** There may be more of either. */
  readonly isPartial: boolean;
  /**
   * The state of all readable files, by their paths below the folder: a hash of content and time.
   *
   * For files that cannot be read now, their previous state.
   */
  readonly read: ReadonlyMap<string, string>;
}

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
const API_VERSIONS: readonly unknown[] = ['kubelet.config.k8s.io/v1alpha1', 'kubelet.config.k8s.io/v1beta1'];
const FILE_NAME = /^sha256-([0-9a-f]{64})$/;
const FILES_AT_ONCE = 16;
/** Many times the size of the logins that a kubelet stores for one image. */
const MAX_BYTES = 4 * 1024 * 1024;
/** Stands in for a hash of podloop, and equals none of them. */
const KUBELETS_LOGIN = 'of a kubelet';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads what is new in a kubelet's folder: skips files that are unchanged since `read`. Never rejects.
 *
 * Unreadable files are logged with their paths.
 */
export async function readKubeletPulls(
  folder: string,
  known: ReadonlyMap<string, string>,
  logger: Logger,
): Promise<KubeletPulls> {
  const pulled = new Map<string, { id: string | undefined; names: PulledNames }>();
  const begun: string[] = [];
  const read = new Map<string, string>();
  let isPartial = false;

  const readAll = async (
    kind: string,
    take: (key: string, text: string | undefined) => void,
  ): Promise<void> => {
    let keys: readonly string[];
    try {
      keys = await list(join(folder, kind));
    } catch (error) {
      const path = join(folder, kind);
      logger.error("A kubelet's records of pulls cannot be read, all images are to be pulled again", error, {
        path,
      });
      isPartial = true;
      for (const [name, state] of known) if (dirname(name) === kind) read.set(name, state);
      return;
    }
    const readOne = async (key: string): Promise<void> => {
      const name = join(kind, `sha256-${key}`);
      try {
        const { text, mtimeMs } = await readPlainFile(join(folder, name));
        // Two pulls of the same name have the same beginning.
        const state = createHash('sha256').update(`${mtimeMs}\n${text}`).digest('hex');
        read.set(name, state);
        if (known.get(name) !== state) take(key, text);
      } catch (error) {
        const path = join(folder, name);
        logger.error(
          `A kubelet's record of a pull cannot be read, ${meantBy(kind)} to be pulled again`,
          error,
          { path },
        );
        const before = known.get(name);
        if (before !== undefined && !read.has(name)) read.set(name, before);
        take(key, undefined);
      }
    };
    for (let index = 0; index < keys.length; index += FILES_AT_ONCE) {
      await Promise.all(keys.slice(index, index + FILES_AT_ONCE).map(readOne));
    }
  };

  await readAll('pulled', (key, text) => {
    pulled.set(key, text === undefined ? { id: undefined, names: new Map() } : parsePulled(text, key));
  });
  await readAll('pulling', (key, text) => {
    if (text === undefined) isPartial = true;
    else begun.push(parseBegun(text, key));
  });
  return { pulled, begun, isPartial, read };
}

function meantBy(kind: string): string {
  return kind === 'pulled' ? 'the image is' : 'all images are';
}

/** The keys of its files; none if the folder is missing. */
async function list(folder: string): Promise<string[]> {
  return (await namesIn(folder)).flatMap((file) => FILE_NAME.exec(file)?.[1] ?? []);
}

/** Follows no link, waits for no pipe, and refuses files that are too large for a record. */
async function readPlainFile(path: string): Promise<{ readonly text: string; readonly mtimeMs: number }> {
  await using file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  const facts = await file.stat();
  if (!facts.isFile()) throw new Error('it is no plain file');
  if (facts.size > MAX_BYTES) throw new Error(`it has ${facts.size} bytes, more than ${MAX_BYTES}`);
  return { text: await file.readFile('utf8'), mtimeMs: facts.mtimeMs };
}

function parseBegun(text: string, key: string): string {
  const { image } = parse(text, 'ImagePullIntent');
  if (typeof image !== 'string' || keyOf(image) !== key)
    throw new Error('it is about another image than its name');
  return image;
}

function parsePulled(text: string, key: string): { readonly id: string; readonly names: PulledNames } {
  const { imageRef, credentialMapping } = parse(text, 'ImagePulledRecord');
  if (typeof imageRef !== 'string' || keyOf(imageRef) !== key) {
    throw new Error('it is about another image than its name');
  }
  let names: PulledNames = new Map();
  for (const [image, credentials] of Object.entries(toFields(credentialMapping ?? {}))) {
    const access = toAccess(toFields(credentials));
    names = withOthers(names, new Map([[repositoryOf(image) ?? image, access]]));
  }
  return { id: imageRef, names };
}

function toAccess(credentials: Fields): 'anyone' | readonly UsedLogin[] {
  const { nodePodsAccessible, kubernetesSecrets, kubernetesServiceAccounts } = credentials;
  if (nodePodsAccessible === true) return 'anyone';
  return [
    ...toIds(kubernetesSecrets).map((secret) => ({ hash: KUBELETS_LOGIN, secret })),
    ...toIds(kubernetesServiceAccounts).map((account) => ({ hash: KUBELETS_LOGIN, account })),
  ];
}

function toIds(value: unknown): readonly ObjectId[] {
  const objects = value ?? [];
  if (!Array.isArray(objects)) throw new Error('it does not say who may use the image');
  return objects.map((each): ObjectId => {
    const { uid, namespace, name } = toFields(each);
    return { uid: toText(uid), namespace: toText(namespace), name: toText(name) };
  });
}

function parse(text: string, wanted: string): Fields {
  const fields = toFields(JSON.parse(text));
  if (fields['kind'] !== wanted || !API_VERSIONS.includes(fields['apiVersion'])) {
    throw new Error(
      `it is ${JSON.stringify(fields['kind'])} of ${JSON.stringify(fields['apiVersion'])}, and no ${wanted}`,
    );
  }
  return fields;
}

function toFields(value: unknown): Fields {
  if (isRecord(value)) return value;
  throw new Error('something in it is no object');
}

function toText(value: unknown): string {
  if (typeof value === 'string' && value !== '') return value;
  throw new Error('it does not say which Secret or service account it was');
}

/**
 * The certificate of a node on the disk, in the files that a kubelet has.
 *
 * ```
 * kubelet-client-current.pem ─► kubelet-client-2026-11-22-10-30-00.pem   certificate and key, 0600
 * kubelet-client.key.tmp                                                 the key that a certificate is asked for with
 * ```
 *
 * In: certificates as they are issued. Out: the newest. Killed at any moment it leaves the old pair or the new one, and the key
 * whose request is under way. Nothing here is shared: a folder belongs to one agent at a time.
 *
 * Source: https://kubernetes.io/docs/reference/access-authn-authz/kubelet-tls-bootstrapping/
 *
 * @module
 */
import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { readdir, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { makeFolder } from '#base/fs/make-folder.js';
import { privateKeyIn } from '#base/wire/pem.js';
import { readIfThere, syncPath, writeWhole } from '#base/fs/whole-file.js';
import { type NodeCertificate, isOfKey, readNodeCertificate } from './node-certificate.js';

/** What a {@link CertificateStore} needs. */
export interface CertificateStoreOptions {
  readonly folder: string;
  /** How its files begin: a kubelet's names. */
  readonly prefix: 'kubelet-client' | 'kubelet-server';
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
}

/** Who looks for the one before finds it, and a certificate of a few minutes fills no disk. */
const KEPT_FILES = 5;

/** See the module. */
export class CertificateStore {
  /** The link to the newest pair. */
  readonly currentFile: string;
  readonly #options: CertificateStoreOptions;
  readonly #keyFile: string;
  #read: { readonly text: string; readonly held: NodeCertificate | undefined } | undefined;
  /** The problem that was reported last. */
  #complaint = '';

  constructor(options: CertificateStoreOptions) {
    this.#options = options;
    const { folder, prefix } = options;
    this.currentFile = join(folder, `${prefix}-current.pem`);
    this.#keyFile = join(folder, `${prefix}.key.tmp`);
  }

  /** The newest pair, whether it is still good or not; undefined when there is none. A pair that cannot be used is reported once. */
  async find(): Promise<NodeCertificate | undefined> {
    const file = this.currentFile;
    try {
      const text = (await readIfThere(file)) ?? '';
      if (this.#read?.text !== text) {
        // Known as it is from here on, should it be of no use.
        this.#read = { text, held: undefined };
        this.#read = { text, held: text === '' ? undefined : readNodeCertificate(text, text) };
      }
      if (this.#read.held !== undefined) this.#complaint = '';
    } catch (error) {
      const why = messageOf(error);
      if (why !== this.#complaint) {
        this.#options.logger.warn('Certificate of the node cannot be used', { file, why });
      }
      this.#complaint = why;
    }
    return this.#read?.held;
  }

  /** The key to ask for a certificate with: the one of a request that is under way, else a new one that is on the disk. */
  async pendingKey(): Promise<KeyObject> {
    const { folder } = this.#options;
    const kept = toKey((await readIfThere(this.#keyFile)) ?? '');
    const held = await this.find();
    // What an agent left that was killed when it had its certificate.
    if (kept !== undefined && (held === undefined || !isOfKey(held.cert, kept))) return kept;
    await makeFolder(folder, 0o700);
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
    await writeWhole(this.#keyFile, toText(privateKey));
    return privateKey;
  }

  /** A request with this key leads to nothing: the next one has another. */
  async dropPendingKey(): Promise<void> {
    await rm(this.#keyFile, { force: true });
  }

  /** Makes a certificate and its key the newest pair. Rejects with what is wrong with them. */
  async put(cert: string, key: KeyObject): Promise<NodeCertificate> {
    const { folder, prefix, clock } = this.#options;
    const held = readNodeCertificate(cert, toText(key));
    const name = `${prefix}-${toFileTime(clock.now())}.pem`;
    const text = `${held.cert}${held.key}`;
    await writeWhole(join(folder, name), text);
    const link = join(folder, `${prefix}-updated.pem`);
    await rm(link, { force: true });
    await symlink(name, link);
    await rename(link, this.currentFile);
    await syncPath(folder);
    this.#read = { text, held };
    await this.dropPendingKey();
    await this.#clearUp(name);
    return held;
  }

  /** Takes away what was rotated out long ago. */
  async #clearUp(current: string): Promise<void> {
    const { folder, prefix, logger } = this.#options;
    try {
      const dated = new RegExp(`^${prefix}-\\d{4}(-\\d{2}){5}\\.pem$`);
      const names = (await readdir(folder)).filter((name) => dated.test(name) && name !== current).sort();
      for (const name of names.slice(0, -KEPT_FILES)) await rm(join(folder, name), { force: true });
    } catch (error) {
      logger.warn('Old certificates cannot be removed', { folder, why: messageOf(error) });
    }
  }
}

function toText(key: KeyObject): string {
  return key.export({ type: 'sec1', format: 'pem' }).toString();
}

/** Undefined for what is no key of the kind that we make. */
function toKey(text: string): KeyObject | undefined {
  const pem = privateKeyIn(text);
  if (pem === undefined) return undefined;
  try {
    const key = createPrivateKey(pem);
    return key.asymmetricKeyDetails?.namedCurve === 'prime256v1' ? key : undefined;
  } catch {
    return undefined;
  }
}

/** As in `2026-11-22-10-30-00`, in UTC: they sort as they were made. */
function toFileTime(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replaceAll(/[T:]/g, '-');
}

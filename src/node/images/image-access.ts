import { type RuntimeImage } from '../runtime/runtime-changes.js';
import { isOutcomeUnknown } from '../runtime/unsettled-changes.js';
import { publishTo, type Publisher } from '#base/channels/publishing-channel.js';
import { imageAccessJudged } from '#base/channels/image-channels.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { repositoryOf } from '#kube/container/image-name.js';
import { type AccessVerdict, judgeAccess } from './judge-access.js';
import { type PullCredential } from './pull-logins.js';
import { type PullRecords } from './pull-records.js';
import { pullWithAny, type WelcomePull } from './pull-with-any.js';
import { type UsedLogin } from './pulled-names.js';
import { type VerificationRules } from './verification-policy.js';

/** Options of {@link ImageAccess}. */
export interface ImageAccessOptions extends Publisher {
  readonly records: PullRecords;
  readonly rules: VerificationRules;
  readonly logger?: Logger;
}

/** The part of a pull that concerns access. */
export interface PullAttempts {
  readonly image: string;
  /** To be tried one after the other; empty: one attempt without credentials. */
  readonly credentials: readonly PullCredential[];
  /** Returns the image's reference. */
  readonly pull: (credential: PullCredential | undefined) => Promise<string>;
  /** Finds an image by its name or reference, as of now. */
  readonly findImage: (image: string) => Promise<RuntimeImage | undefined>;
}

/**
 * Decides which pod may use an image that the node already has, and records the logins with which images are
 * pulled.
 */
export class ImageAccess {
  readonly #records: PullRecords;
  readonly #rules: VerificationRules;
  readonly #logger: Logger;
  readonly #channels: Publisher['channels'];

  constructor({ records, rules, channels, logger = SILENT_LOGGER }: ImageAccessOptions) {
    this.#records = records;
    this.#rules = rules;
    this.#logger = logger;
    this.#channels = channels;
  }

  /**
   * Whether a pod may use an image that it requests by that name. Reads nothing from disk, and asks for the pod's
   * credentials, which may take a while, only where they decide. Rejects only as that does.
   */
  async mayUse(
    present: RuntimeImage,
    image: string,
    credentials: () => Promise<readonly PullCredential[]>,
  ): Promise<boolean> {
    const judge = (logins?: readonly UsedLogin[]): AccessVerdict =>
      judgeAccess({
        rules: this.#rules,
        repository: repositoryOf(image) ?? image,
        // As of now: a pull may have ended while the credentials were asked for.
        names: this.#records.findNames(present, image),
        logins,
      });
    let verdict = judge();
    if (verdict.result === 'loginsNeeded')
      verdict = judge((await credentials()).map((credential) => this.#toUsed(credential)));
    const { news } = verdict;
    const result = verdict.result === 'loginsNeeded' ? 'mustAuthenticate' : verdict.result;
    publishTo(this.#channels, imageAccessJudged, { result });
    if (news !== undefined) this.#records.note(present.id, image, news);
    return result !== 'mustAuthenticate';
  }

  /** Pulls with each login until one is accepted. Rejects with the last error. */
  async pull(attempts: PullAttempts): Promise<string> {
    const { image, credentials, pull, findImage } = attempts;
    // While the pull waited for its turn, the name may have moved to another image.
    const begun =
      credentials.length === 0 ? undefined : await this.#records.begin(image, await findImage(image));
    const outcome = { isLost: false };
    const pullOnce = async (credential: PullCredential | undefined): Promise<string> => {
      try {
        return await pull(credential);
      } catch (error) {
        outcome.isLost ||= isOutcomeUnknown(error);
        throw error;
      }
    };
    let pulled: WelcomePull;
    try {
      pulled = await pullWithAny(credentials, pullOnce);
    } catch (error) {
      if (begun !== undefined) await this.#records.end(begun, outcome.isLost);
      throw error;
    }
    const isKept = await this.#record(attempts, pulled);
    if (begun !== undefined) await this.#records.end(begun, outcome.isLost || !isKept);
    return pulled.imageRef;
  }

  /**
   * Resolves with whether it is on disk, and never rejects: without a record, the image only has to be pulled
   * again.
   */
  async #record({ image, findImage }: PullAttempts, { imageRef, credential }: WelcomePull): Promise<boolean> {
    try {
      const id = (await findImage(imageRef))?.id;
      const isForAnyone = credential === undefined || credential.isForAnyone === true;
      const login = isForAnyone ? undefined : this.#toUsed(credential);
      return id !== undefined && (await this.#records.record(id, image, login));
    } catch (error) {
      this.#logger.error('Image was pulled but cannot be inspected, pulling it again', error, {
        image,
      });
      return false;
    }
  }

  #toUsed({ login, secret, account }: PullCredential): UsedLogin {
    return { hash: this.#records.hashOf(login), ...(secret && { secret }), ...(account && { account }) };
  }
}

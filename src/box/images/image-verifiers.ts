/**
 * Asks programs whether an image may be pulled, as containerd's image verifier plugins are asked.
 *
 * In: the name of an image and the descriptor that it stands for. Out: nothing, or an error with what a program says. Every
 * program of the folder has to agree. It assumes that they hang, crash and print without end: whatever one does but exit
 * with 0 in time is a refusal, and so is a folder in which no program can be asked, because who names a folder wants a check.
 *
 * @see https://github.com/containerd/containerd/blob/main/docs/image-verification.md
 * @module
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Slots } from '#base/async/slots.js';
import { messageOf, PodloopError } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { type Clock } from '#base/time/clock.js';
import { runHelper } from '../process/helper-process.js';
import { refused } from '../rpc-error.js';
import { type Descriptor } from './archive/oci-documents.js';

/** The programs, and what each may take. */
export interface ImageVerifierOptions {
  /** The folder of the programs, which are asked in the order of their names. */
  readonly binDir: string;
  /** Maximum number of programs in it (default: 10). */
  readonly maxVerifiers?: number | undefined;
  /** How long each may take, in milliseconds (default: 10,000). */
  readonly timeoutMs?: number | undefined;
  /** Their environment, with the proxies of this machine, for example. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/** What {@link ImageVerifiers} needs besides. */
export interface ImageVerifiersOptions extends ImageVerifierOptions {
  readonly clock: Clock;
  readonly logger: Logger;
}

const MAX_VERIFIERS = 10;
const TIMEOUT_MS = 10_000;
/** Pulls beside one another share these. */
const MAX_AT_ONCE = 10;
const MAX_REASON_LENGTH = 1_000;

/** See the module. */
export class ImageVerifiers {
  readonly #options: ImageVerifiersOptions;
  readonly #slots = new Slots({ limit: MAX_AT_ONCE });

  private constructor(options: ImageVerifiersOptions) {
    this.#options = options;
  }

  /** Rejects with OPTION_INVALID for a folder in which no program can be asked. */
  static async open(options: ImageVerifiersOptions): Promise<ImageVerifiers> {
    const verifiers = new ImageVerifiers(options);
    await verifiers.#list().catch((error: unknown) => {
      throw new PodloopError('OPTION_INVALID', messageOf(error), { cause: error });
    });
    return verifiers;
  }

  /**
   * Resolves if all programs agree. Else rejects with CRI's name for that, `SignatureValidationFailed: …`, or with the
   * signal's reason.
   */
  async verify(image: string, target: Descriptor, signal: AbortSignal): Promise<void> {
    try {
      for (const name of await this.#list()) {
        await this.#slots.run(undefined, () => this.#ask(name, image, target, signal), signal);
      }
    } catch (error) {
      signal.throwIfAborted();
      throw refused(`SignatureValidationFailed: image "${image}" (${target.digest}): ${messageOf(error)}`);
    }
  }

  async #list(): Promise<readonly string[]> {
    const { binDir, maxVerifiers = MAX_VERIFIERS } = this.#options;
    const names = await readdir(binDir).catch((error: unknown) => {
      throw new Error(`the folder of image verifiers cannot be read: ${messageOf(error)}`);
    });
    if (names.length === 0) throw new Error(`there is no image verifier in ${binDir}`);
    if (names.length > maxVerifiers)
      throw new Error(
        `there are ${names.length} files in the folder of image verifiers ${binDir}, and at most ${maxVerifiers} are allowed`,
      );
    return names.sort();
  }

  async #ask(name: string, image: string, target: Descriptor, signal: AbortSignal): Promise<void> {
    const { binDir, timeoutMs: deadlineMs = TIMEOUT_MS, environment = {}, clock, logger } = this.#options;
    const { mediaType, digest, size } = target;
    const call = {
      argv: [
        ...[join(binDir, name), '-name', image, '-digest', digest],
        ...['-stdin-media-type', 'application/vnd.oci.descriptor.v1+json'],
      ],
      input: JSON.stringify({ mediaType, digest, size }),
      env: Object.fromEntries(
        Object.entries(environment).flatMap(([key, value]) =>
          value === undefined ? [] : [[key, value] as const],
        ),
      ),
      ...{ deadlineMs, signal, clock },
    };
    const { exitCode, stdout, stderr } = await runHelper(call).catch((error: unknown) => {
      signal.throwIfAborted();
      const why = messageOf(error).replace(call.argv.join(' '), name);
      throw new Error(`the verifier ${name} gives no answer: ${why}`);
    });
    const reason = toLine(stdout);
    const agrees = exitCode === 0;
    logger.info('Image verifier', { verifier: name, image, agrees, reason, stderr: toLine(stderr) }, 3);
    if (agrees) return;
    throw new Error(
      `the verifier ${name} refuses it (exit code ${exitCode})${reason === '' ? '' : `: ${reason}`}`,
    );
  }
}

/** What a program prints, for the message of a pod: one line without control characters. */
function toLine(text: string): string {
  return text
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, MAX_REASON_LENGTH);
}

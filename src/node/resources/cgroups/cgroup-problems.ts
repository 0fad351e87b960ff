import { type Logger } from '#base/log/logger.js';
import { describeMissing, type MissingController, remedyOf } from '#base/proc/cgroups/missing-controller.js';
import { messageOf } from '#base/errors/errors.js';
import { RecentKeys } from '#base/async/recent-keys.js';
import { systemCodeOf } from '#base/errors/system-code.js';

/** Something that pods lack for want of cgroups, in words. */
export interface CgroupProblem {
  /** A controller of cgroup v2; `groups` if none can be created. */
  readonly what: string;
  readonly error: string;
  readonly remedy: string;
  /** False for something that only few pods request. */
  readonly isNeeded: boolean;
}

/** The controllers that every pod with requests and limits needs. */
const NEEDED = ['cpu', 'memory', 'pids'];
/** Stands for all groups, instead of a slice. */
const EVERYWHERE = '';
/** How many problems are remembered, so that each is logged once. */
const MAX_LOGGED = 1000;
const NO_GROUPS_REMEDY =
  'Run podloop as root, or name a cgroup that was delegated to this user with --cgroup-root; as it is, containers are limited as far as the runtime does it by itself.';

/** Missing features of the machine's cgroups: each is logged once, and listed as long as it lasts. */
export class CgroupProblems {
  readonly #logger: Logger;
  /** The keys are names of groups, and each pod may bring another one. */
  readonly #logged = new RecentKeys({ maxKeys: MAX_LOGGED });
  /** By slice; {@link EVERYWHERE} for the groups that this agent creates. */
  readonly #missing = new Map<string, readonly MissingController[]>();
  #failure: string | undefined;

  constructor({ logger }: { readonly logger: Logger }) {
    this.#logger = logger;
  }

  /**
   * Sets all controllers that the group of a pod lacks, replacing the previous ones.
   *
   * Groups of this agent share their parents, so they lack the same.
   *
   * @param slice a slice of systemd: each has its own unit, which decides what it gets, so slices are
   *   independent.
   */
  setMissing(missing: readonly MissingController[], slice = EVERYWHERE): void {
    this.#failure = undefined;
    if (missing.length === 0) this.#missing.delete(slice);
    else this.#missing.set(slice, missing);
    for (const each of missing) {
      const { controller, group, reason } = each;
      const facts = { controller, cgroup: group, why: describeMissing(each), remedy: remedyOf(each) };
      this.#log([controller, group, reason].join(' '), NEEDED.includes(controller) ? 'warn' : 'info', facts);
    }
  }

  /** Forgets slices that no longer exist. */
  keepSlices(isThere: (slice: string) => boolean): void {
    for (const slice of this.#missing.keys()) {
      if (slice !== EVERYWHERE && !isThere(slice)) this.#missing.delete(slice);
    }
  }

  /** The group of a pod could not be created at all, or not be written to. */
  setFailure(error: unknown): void {
    this.#failure = messageOf(error);
    // Which pod it was differs each time. Without root, or in a container, this is normal.
    const facts = { err: messageOf(error), remedy: NO_GROUPS_REMEDY };
    this.#log(
      systemCodeOf(error) || messageOf(error),
      'info',
      facts,
      'Cgroups of pods are left to the runtime',
    );
  }

  /** The present problems; empty when pods have everything that they need. */
  list(): readonly CgroupProblem[] {
    if (this.#failure !== undefined) {
      const error = `no cgroup can be made for pods: ${this.#failure}`;
      return [{ what: 'groups', error, remedy: NO_GROUPS_REMEDY, isNeeded: false }];
    }
    // Slices that lack the same for the same reason are one problem, which names the last of them.
    const problems = [...this.#missing.values()].flat().map((each) => {
      const { controller, reason, code } = each;
      const words = { what: controller, error: describeMissing(each), remedy: remedyOf(each) };
      return [
        `${controller} ${reason} ${code}`,
        { ...words, isNeeded: NEEDED.includes(controller) },
      ] as const;
    });
    return [...new Map(problems).values()];
  }

  #log(
    key: string,
    level: 'info' | 'warn',
    fields: Readonly<Record<string, string>>,
    message = 'Cgroups of pods lack a controller',
  ): void {
    if (!this.#logged.add(key)) return;
    this.#logger[level](message, fields);
  }
}

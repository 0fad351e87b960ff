import { type Logger } from '../../util/logger.js';
import { describeMissing, type MissingController, remedyOf } from '../../util/cgroups/missing-controller.js';
import { messageOf } from '../../util/errors.js';
import { RecentKeys } from '../../util/recent-keys.js';
import { systemCodeOf } from '../../util/system-code.js';

/** Something that pods go without for want of cgroups, in words. */
export interface CgroupProblem {
  /** A controller of cgroup v2; `groups` where none can be made. */
  readonly what: string;
  readonly error: string;
  readonly remedy: string;
  /** False for what only few pods ask for. */
  readonly isNeeded: boolean;
}

/** What every pod with requests and limits needs. */
const NEEDED = ['cpu', 'memory', 'pids'];
/** How many problems are remembered, so that each is logged once. */
const MAX_LOGGED = 1000;
const NO_GROUPS_REMEDY =
  'Run podloop as root, or name a cgroup that was delegated to this user with --cgroup-root; as it is, containers are limited as far as the runtime does it by itself.';

/** What cannot be had of the machine's cgroups: logged once each, and listed as long as it lasts. */
export class CgroupProblems {
  readonly #logger: Logger;
  /** Keys name groups, of which each pod may bring another one. */
  readonly #logged = new RecentKeys({ maxKeys: MAX_LOGGED });
  #missing: readonly MissingController[] = [];
  #failure: string | undefined;

  constructor({ logger }: { readonly logger: Logger }) {
    this.#logger = logger;
  }

  /** The controllers that the group of a pod was not given, all of them: those of before are had by now. */
  setMissing(missing: readonly MissingController[]): void {
    this.#failure = undefined;
    this.#missing = missing;
    for (const each of missing) {
      const { controller, group, reason } = each;
      const facts = { controller, cgroup: group, why: describeMissing(each), remedy: remedyOf(each) };
      this.#log([controller, group, reason].join(' '), NEEDED.includes(controller) ? 'warn' : 'info', facts);
    }
  }

  /** The group of a pod could not be made at all, or not written to. */
  setFailure(error: unknown): void {
    this.#failure = messageOf(error);
    // Which pod it was changes from one to the next. Without root, or in a container, that is how it is.
    const facts = { err: messageOf(error), remedy: NO_GROUPS_REMEDY };
    this.#log(
      systemCodeOf(error) || messageOf(error),
      'info',
      facts,
      'Cgroups of pods are left to the runtime',
    );
  }

  /** As of now; empty when pods have all that they need. */
  list(): readonly CgroupProblem[] {
    if (this.#failure !== undefined) {
      const error = `no cgroup can be made for pods: ${this.#failure}`;
      return [{ what: 'groups', error, remedy: NO_GROUPS_REMEDY, isNeeded: false }];
    }
    return this.#missing.map((each) => ({
      ...{ what: each.controller, error: describeMissing(each), remedy: remedyOf(each) },
      isNeeded: NEEDED.includes(each.controller),
    }));
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

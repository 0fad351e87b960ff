import { type PodSandboxConfig } from '#watch/messages';
import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { type Cgroups, type LivePod } from '../cgroups/cgroups.js';
import { type Isolation } from '../isolation/isolation.js';
import { type ProcessIdentity } from '../process/child-identity.js';

/** What a sandbox's network must be able to do; see PodNetwork. */
export interface SandboxNetwork {
  attach(
    request: { sandboxId: string; holderPid: number; config: PodSandboxConfig },
    signal: AbortSignal,
  ): Promise<{ readonly ips: readonly string[] }>;
  detach(sandboxId: string): Promise<void>;
  ipsOf(sandboxId: string): readonly string[];
  restore(
    live: readonly {
      readonly id: string;
      readonly holderPid: number;
      readonly config: PodSandboxConfig | undefined;
    }[],
  ): Promise<void>;
}

/** What {@link SandboxParts} puts together. */
export interface SandboxPartsOptions {
  readonly isolation: Isolation;
  readonly cgroups: Cgroups;
  readonly network: SandboxNetwork;
  readonly logger: Logger;
}

/** A sandbox, made or half made, by its record alone. */
export interface SandboxPlace {
  readonly id: string;
  /** The sandbox's folder. */
  readonly dir: string;
  readonly config: PodSandboxConfig;
}

/** What was found to be there after a restart. */
export interface LiveSandbox extends LivePod {
  /** Undefined when it is dead, or was never needed. */
  readonly holder: ProcessIdentity | undefined;
}

/**
 * What a sandbox is beside its record: namespaces held by a process, cgroup, network. Each part undoes what is there
 * of it, in whatever state a crash has left it.
 */
export class SandboxParts {
  readonly #options: SandboxPartsOptions;

  constructor(options: SandboxPartsOptions) {
    this.#options = options;
  }

  /** Makes the parts. When it rejects nothing of them is left. */
  async assemble(place: SandboxPlace, signal: AbortSignal): Promise<ProcessIdentity | undefined> {
    const { isolation, cgroups, network } = this.#options;
    try {
      await cgroups.createPod(place.id, place.config);
      const holder = await isolation.startSandbox(place);
      if (holder !== undefined) {
        await network.attach({ sandboxId: place.id, holderPid: holder.pid, config: place.config }, signal);
      }
      return holder;
    } catch (error) {
      await this.dismantle(place).catch((fault: unknown) => this.#complain(place.id, fault));
      throw error;
    }
  }

  /** Undoes all parts, in this boot. Idempotent. What can be undone is, before it rejects. */
  async dismantle(place: SandboxPlace): Promise<void> {
    await this.release(place);
    await this.#options.cgroups.removePod(place.id);
  }

  /** Undoes what a stopped sandbox does not need any more. Idempotent. */
  async release(place: SandboxPlace): Promise<void> {
    const { isolation, network } = this.#options;
    const detached = await Promise.allSettled([network.detach(place.id)]);
    await isolation.endSandbox(place);
    for (const each of detached) if (each.status === 'rejected') throw each.reason;
  }

  ipsOf(sandboxId: string): readonly string[] {
    return this.#options.network.ipsOf(sandboxId);
  }

  /** Undoes what belongs to none of these sandboxes and containers; `live` must be complete. */
  async restore(live: readonly LiveSandbox[]): Promise<void> {
    const { isolation, cgroups, network } = this.#options;
    await cgroups.restore(live);
    await isolation.pruneSandboxes(new Set(live.map(({ sandboxId }) => sandboxId)));
    await network.restore(
      live.flatMap(({ sandboxId, holder, config }) =>
        holder === undefined ? [] : [{ id: sandboxId, holderPid: holder.pid, config }],
      ),
    );
  }

  #complain(sandboxId: string, error: unknown): void {
    this.#options.logger.warn('Half a sandbox not undone', { sandboxId, err: messageOf(error) });
  }
}

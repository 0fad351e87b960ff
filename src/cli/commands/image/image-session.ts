import { type Command } from 'commander';
import { type ImageTransferClient } from '#box';
import { describeRuntimeError, RuntimeImages } from '#node';
import { messageOf } from '#base/errors/errors.js';
import { type CliHost } from '../../cli-host.js';
import { CommandFailure, failure } from '../../command-failure.js';
import { EXIT_INTERRUPTED } from '../../interrupts.js';
import { chooseRuntimeEndpoint } from '../../shared/find-runtime-endpoint.js';
import { kubeletsEndpointOption, RUNTIME_ENDPOINT_HELP } from '../../shared/runtime-endpoint.js';

/** The flags of every command about images. */
export interface ImageFlags {
  readonly runtimeEndpoint?: string;
  readonly containerRuntimeEndpoint?: string;
}

/** What a command about images works with. */
export interface ImageSession {
  readonly images: RuntimeImages;
  /** For what CRI has no call for; its calls fail with UNIMPLEMENTED on a runtime that is not podloop's own. */
  readonly transfer: ImageTransferClient;
  /** Aborts at Ctrl-C. */
  readonly signal: AbortSignal;
}

/** Adds the flags that every command about images has. */
export function addImageFlags(command: Command): Command {
  return command
    .option('--runtime-endpoint <endpoint>', RUNTIME_ENDPOINT_HELP)
    .addOption(kubeletsEndpointOption());
}

/** Connects to the runtime, and runs the command with it. What the runtime refuses becomes one line of error. */
export async function withImages(
  host: CliHost,
  flags: ImageFlags,
  run: (session: ImageSession) => Promise<void>,
): Promise<void> {
  const signal = host.listenForInterrupts();
  const named = flags.runtimeEndpoint ?? flags.containerRuntimeEndpoint;
  const endpoint = await chooseRuntimeEndpoint(named, host, signal);
  using images = await RuntimeImages.connect(endpoint, host.clock, signal);
  const { ImageTransferClient: Transfer } = await import('#box');
  using transfer = new Transfer(images.endpoint);
  try {
    await run({ images, transfer, signal });
    await host.stdout.assertWritten();
  } catch (error) {
    // As a shell counts a command that Ctrl-C has ended.
    if (signal.aborted) throw new CommandFailure([], EXIT_INTERRUPTED);
    if (error instanceof CommandFailure) throw error;
    throw failure(describeRuntimeError(error).replaceAll(/\s+/g, ' '));
  }
}

/** What other runtimes have for what CRI has no call for. */
const OTHER_TOOLS: readonly (readonly [RegExp, Readonly<Record<Work, string>>])[] = [
  [
    /containerd/i,
    {
      load: 'ctr -n k8s.io images import FILE',
      save: 'ctr -n k8s.io images export FILE IMAGE',
      'pull --platform': 'ctr -n k8s.io images pull --platform PLATFORM IMAGE',
    },
  ],
  [
    /cri-?o/i,
    {
      load: 'skopeo copy docker-archive:FILE containers-storage:IMAGE',
      save: 'skopeo copy containers-storage:IMAGE docker-archive:FILE:IMAGE',
      'pull --platform': 'skopeo copy --override-arch ARCH docker://IMAGE containers-storage:IMAGE',
    },
  ],
  [
    /docker/i,
    {
      load: 'docker load -i FILE',
      save: 'docker save -o FILE IMAGE',
      'pull --platform': 'docker pull --platform PLATFORM IMAGE',
    },
  ],
];

type Work = 'load' | 'save' | 'pull --platform';

/** Turns the answer of a runtime that has no such call into one that names the tool for it; other errors stay. */
export function explainOtherRuntime(error: unknown, work: Work, { runtimeName }: RuntimeImages): unknown {
  if (!isUnimplemented(error)) return error;
  const [, tools] = OTHER_TOOLS.find(([name]) => name.test(runtimeName)) ?? [];
  const instead = tools === undefined ? 'use the tool of that runtime' : `use: ${tools[work]}`;
  return failure(
    `"podloop ${work}" needs podloop's own runtime, and ${runtimeName} is asked here; ${instead}`,
  );
}

/** Whether a runtime has no such call. */
export function isUnimplemented(error: unknown): boolean {
  const { code, name } = error as { readonly code?: unknown; readonly name?: unknown };
  // What the runtime in the box has, it refuses in words of its own, with names of images among them.
  const words = /podloop\.box\.v1|unknown (method|service)|not implement|^(12 )?unimplemented\W*$/i;
  return name === 'RpcError' && code === 12 && words.test(messageOf(error));
}

/** A size as docker and crictl print it: decimal units, three digits. */
export function toSizeText(bytes: bigint | number): string {
  let value = Number(bytes);
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let at = 0;
  while (Number(value.toPrecision(3)) >= 1000 && at < units.length - 1) {
    value /= 1000;
    at++;
  }
  return `${Number(value.toPrecision(3))}${units[at]!}`;
}

import { type Publisher } from '#base/channels/publishing-channel.js';
import { join } from 'node:path';
import { type Readable } from 'node:stream';
import { type ConfigProblem, formatConfigProblem } from '../desired/config-problem.js';
import { ConfigObjects, type ObjectChange } from '../desired/config-objects.js';
import { FILE_SOURCE, FileSource } from '../desired/sources/file-source.js';
import { HTTP_SOURCE, HttpSource } from '../desired/sources/http-source.js';
import { judgeByContent } from '../desired/manifests/judge-pod.js';
import { type WorkloadControllers } from '../workloads/index.js';
import { type LocalServices } from '../services/local-services.js';
import { workloadPort } from '../desired/workload-port.js';
import { PodConfig, type PodSourcePort } from '../desired/pod-config.js';
import { ProblemBook } from '../desired/problem-book.js';
import { type DebugContainers } from '../desired/debug-containers.js';
import { type StoppedPods } from '../desired/stopped-pods.js';
import { STDIN_SOURCE, StdinSource } from '../desired/sources/stdin-source.js';
import { type AppliedObject } from '../desired/manifests/manifest-writer.js';
import { type ManifestParser } from '../desired/manifests/parse-manifest.js';
import { PromptManifestParser } from '../desired/manifests/prompt-manifest-parser.js';
import { ThreadedManifestParser } from '../desired/manifests/threaded-manifest-parser.js';
import { API_SOURCE } from '#kube/pod/static-pod.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type AgentOptions } from '../options/agent-options.js';

/** What {@link PodSources} needs. */
export interface PodSourcesOptions extends Publisher {
  readonly options: Pick<
    AgentOptions,
    | 'podManifestPath'
    | 'manifestUrl'
    | 'manifestUrlHeader'
    | 'rootDir'
    | 'fileCheckFrequencyMs'
    | 'httpCheckFrequencyMs'
    | 'kubeconfig'
  >;
  readonly nodeName: string;
  /** Pods that do not run although their manifests exist. */
  readonly stopped: StoppedPods;
  /** Containers of pods that no manifest has. */
  readonly debugged: DebugContainers;
  readonly stdin: Readable;
  /** Objects that pods may refer to have changed. */
  readonly onObjectsChanged: (change: ObjectChange) => void;
  /** Makes the pods of workloads. */
  readonly workloads: Pick<WorkloadControllers, 'deliver'>;
  /** Serves Services. */
  readonly services: Pick<LocalServices, 'deliver'>;
  /** Default: small manifests are read at once, others in a thread. */
  readonly parser?: ManifestParser | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Source {
  run(signal: AbortSignal): Promise<void>;
}

/** A folder of manifests, or a single file. */
export interface ManifestPlaces {
  readonly path: string;
  readonly findFile: (object: AppliedObject) => string | undefined;
}

/** In the root folder: the last good versions of manifests. */
export const LAST_GOOD_FOLDER = 'manifests-last-good';

/** Stands for standard input in place of a path. */
const STDIN_PATH = '-';

/** The sources of pods in the options, and what they want together. */
export class PodSources {
  readonly config: PodConfig;
  /** Where manifests are, and which file contains what; undefined when they come from elsewhere. */
  readonly manifests: ManifestPlaces | undefined;
  /** The entry for pods of an API server; undefined for an agent without a cluster. */
  readonly api: PodSourcePort | undefined;
  readonly #sources: readonly Source[];
  readonly #thread: ThreadedManifestParser;
  readonly #stopped: StoppedPods;

  constructor(given: PodSourcesOptions) {
    const { options, nodeName, stdin, stopped, debugged, channels, clock, logger } = given;
    this.#stopped = stopped;
    const problems = new ProblemBook({
      onProblem: (problem) => logger.error(this.format(problem)),
      onCleared: (file) => logger.info('No problem is left with manifest', { file }),
    });
    const objects = new ConfigObjects({ onChanged: given.onObjectsChanged });
    this.config = new PodConfig({ problems, objects, channels, logger, stopped, debugged });
    this.#thread = new ThreadedManifestParser({ clock, logger });
    const parser = given.parser ?? new PromptManifestParser({ others: this.#thread, clock });
    const lastGoodFolder = join(options.rootDir, LAST_GOOD_FOLDER);
    const common = { nodeName, problems, parser, lastGoodFolder, channels, clock, logger };
    const { podManifestPath: path, manifestUrl, manifestUrlHeader: headers } = options;
    const { fileCheckFrequencyMs, httpCheckFrequencyMs } = options;
    const sources: Source[] = [];
    const portOf = (name: string): PodSourcePort => workloadPort(name, this.config.addSource(name), given);
    if (path === STDIN_PATH) {
      const port = portOf(STDIN_SOURCE);
      sources.push(new StdinSource({ ...common, stdin, port }));
    } else if (path !== '') {
      const port = portOf(FILE_SOURCE);
      const files = new FileSource({ ...common, path, port, fileCheckFrequencyMs });
      sources.push(files);
      this.manifests = { path, findFile: (object) => files.findFile(object) };
    }
    if (manifestUrl !== '') {
      const port = portOf(HTTP_SOURCE);
      const url = new URL(manifestUrl);
      sources.push(new HttpSource({ ...common, url, headers, port, httpCheckFrequencyMs }));
    }
    if (options.kubeconfig !== '') this.api = this.config.addSource(API_SOURCE, { judge: judgeByContent });
    this.#sources = sources;
  }

  /** A problem and its consequence in one sentence. */
  format(problem: ConfigProblem): string {
    return formatConfigProblem(problem, (fullName) => this.#stopped.hasStopped(fullName));
  }

  /** Reads all sources until the signal aborts; then resolves. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      await Promise.all(this.#sources.map(async (source) => source.run(signal)));
    } finally {
      await this.#thread[Symbol.asyncDispose]();
    }
  }
}

import { type CriClient } from '#watch';

/** The calls of a {@link CriClient} that change something, or read the result of a change. */
export type ChangingClient = Pick<
  CriClient,
  | 'runPodSandbox'
  | 'stopPodSandbox'
  | 'removePodSandbox'
  | 'listPodSandbox'
  | 'podSandboxStatus'
  | 'createContainer'
  | 'startContainer'
  | 'stopContainer'
  | 'removeContainer'
  | 'listContainers'
  | 'containerStatus'
  | 'updateContainerResources'
  | 'reopenContainerLog'
  | 'execSync'
  | 'pullImage'
  | 'imageStatus'
  | 'listImages'
  | 'removeImage'
>;

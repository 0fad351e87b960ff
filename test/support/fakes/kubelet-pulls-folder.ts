import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Who may use an image by one of its names, in a kubelet's words. */
export interface KubeletCredentials {
  readonly nodePodsAccessible?: boolean;
  readonly kubernetesSecrets?: readonly unknown[];
  readonly kubernetesServiceAccounts?: readonly unknown[];
}

const API_VERSION = 'kubelet.config.k8s.io/v1beta1';

/** Writes what a kubelet writes of pulls, as a kubelet of 1.35 does. */
export class KubeletPullsFolder {
  readonly path: string;

  constructor(kubeletRootDir: string) {
    this.path = join(kubeletRootDir, 'image_manager');
  }

  async addPulled(
    imageRef: string,
    credentialMapping?: Readonly<Record<string, KubeletCredentials>>,
    apiVersion = API_VERSION,
  ): Promise<string> {
    const lastUpdatedTime = '2026-01-02T03:04:05Z';
    const record = { kind: 'ImagePulledRecord', apiVersion, lastUpdatedTime, imageRef, credentialMapping };
    return this.write('pulled', imageRef, JSON.stringify(record));
  }

  async addBegun(image: string, apiVersion = API_VERSION): Promise<string> {
    return this.write('pulling', image, JSON.stringify({ kind: 'ImagePullIntent', apiVersion, image }));
  }

  /** Resolves with the path of the file, whose name says what it is about. */
  async write(kind: 'pulled' | 'pulling', about: string, text: string): Promise<string> {
    await mkdir(join(this.path, 'pulled'), { recursive: true, mode: 0o700 });
    await mkdir(join(this.path, 'pulling'), { recursive: true, mode: 0o700 });
    const path = join(this.path, kind, `sha256-${createHash('sha256').update(about).digest('hex')}`);
    await writeFile(path, text, { mode: 0o600 });
    return path;
  }
}

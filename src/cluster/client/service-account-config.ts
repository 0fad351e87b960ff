import { join } from 'node:path';
import { PodloopError } from '#base/errors/errors.js';
import { joinHostPort } from '#base/wire/join-host-port.js';
import { type Kubeconfig } from './kubeconfig.js';

/** Where a kubelet puts the token and the authority of a pod's service account. */
const FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * The configuration of a client that runs in a pod: the API server that the environment names, asked with the token of the
 * pod's service account. Both files are read again as they change. Throws KUBECONFIG_INVALID outside of a pod.
 *
 * Source: https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/
 */
export function serviceAccountConfig(
  environment: Readonly<Record<string, string | undefined>>,
  folder = FOLDER,
): Kubeconfig {
  const { KUBERNETES_SERVICE_HOST: host = '', KUBERNETES_SERVICE_PORT: port = '' } = environment;
  if (host === '' || !/^\d{1,5}$/.test(port)) {
    throw new PodloopError(
      'KUBECONFIG_INVALID',
      'the service account of a pod can only be used in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set',
    );
  }
  return {
    file: folder,
    server: `https://${joinHostPort({ host, port: Number(port) })}`,
    authority: { file: join(folder, 'ca.crt') },
    insecure: false,
    user: { tokenFile: join(folder, 'token'), impersonation: {} },
  };
}

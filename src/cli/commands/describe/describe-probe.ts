import { type ProbeObject } from '#kube/columns/kube-object.js';

/** A probe in one line: what it does, and its times. */
export function describeProbe(probe: ProbeObject): string {
  const { initialDelaySeconds = 0, timeoutSeconds = 1, periodSeconds = 10 } = probe;
  const { successThreshold = 1, failureThreshold = 3 } = probe;
  const times = `delay=${initialDelaySeconds}s timeout=${timeoutSeconds}s period=${periodSeconds}s`;
  return `${describeAction(probe)} ${times} successThreshold=${successThreshold} failureThreshold=${failureThreshold}`;
}

function describeAction({ exec, httpGet, tcpSocket, grpc }: ProbeObject): string {
  if (exec !== undefined) return `exec [${(exec.command ?? []).join(' ')}]`;
  if (httpGet !== undefined) {
    const { scheme = 'HTTP', host = '', port = '', path = '' } = httpGet;
    return `http-get ${scheme.toLowerCase()}://${host}:${port}${path}`;
  }
  if (tcpSocket !== undefined) return `tcp-socket ${tcpSocket.host ?? ''}:${tcpSocket.port ?? ''}`;
  if (grpc !== undefined) return `grpc <pod>:${grpc.port ?? 0} ${grpc.service ?? ''}`;
  return 'unknown';
}

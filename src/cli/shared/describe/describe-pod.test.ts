import { expect, it } from 'vitest';
import { type PodObject } from '#kube/columns/kube-object.js';
import { describePod } from './describe-pod.js';

const NOW = Date.parse('2026-01-01T00:10:00Z');

const POD: PodObject = {
  metadata: {
    name: 'web',
    namespace: 'shop',
    labels: { b: '2', a: '1' },
    annotations: { note: 'x', text: 'one\ntwo', 'kubectl.kubernetes.io/last-applied-configuration': '{}' },
    deletionTimestamp: '2026-01-01T00:09:00Z',
    deletionGracePeriodSeconds: 30,
  },
  spec: {
    nodeName: 'n1',
    priority: 5,
    initContainers: [{ name: 'setup', image: 'i' }],
    containers: [
      {
        name: 'main',
        image: 'i:1',
        command: ['sh', '-c', 'a\nb'],
        ports: [
          { containerPort: 80, name: 'http' },
          { containerPort: 53, hostPort: 5353, protocol: 'UDP' },
        ],
        resources: { limits: { memory: '1Gi', cpu: '1' } },
        livenessProbe: { httpGet: { path: '/ok', port: 'http' }, periodSeconds: 5 },
        env: [
          { name: 'PLAIN', value: 'v' },
          { name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
          { name: 'KEY', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } },
        ],
        envFrom: [{ prefix: 'P_', configMapRef: { name: 'conf', optional: true } }],
        volumeMounts: [{ name: 'data', mountPath: '/data', readOnly: true, subPath: 'sub' }],
      },
    ],
    volumes: [
      { name: 'data', emptyDir: { medium: 'Memory' } },
      { name: 's', secret: { secretName: 'x' } },
    ],
    tolerations: [{ operator: 'Exists' }, { key: 'k', effect: 'NoExecute', tolerationSeconds: 3 }],
  },
  status: {
    phase: 'Running',
    hostIP: '10.1.1.1',
    podIP: '10.0.0.1',
    podIPs: [{ ip: '10.0.0.1' }],
    qosClass: 'Burstable',
    conditions: [{ type: 'Ready', status: 'False' }],
    containerStatuses: [
      {
        name: 'main',
        ready: false,
        restartCount: 2,
        containerID: 'c://1',
        imageID: 'sha',
        state: { waiting: { reason: 'CrashLoopBackOff' } },
        lastState: { terminated: { exitCode: 3, reason: 'Error', message: 'bad\u001B[31m' } },
      },
    ],
  },
};

const text = (pod: PodObject): string => describePod(pod, undefined, NOW).join('\n');

it('has the layout of kubectl describe', () => {
  expect(text(POD)).toBe(`Name:                      web
Namespace:                 shop
Priority:                  5
Node:                      n1/10.1.1.1
Labels:                    a=1
                           b=2
Annotations:               note: x
                           text:
                             one
                             two
Status:                    Terminating (lasts 60s)
Termination Grace Period:  30s
IP:                        10.0.0.1
IPs:
  IP:  10.0.0.1
Init Containers:
  setup:
    Image:        i
    Port:         <none>
    Host Port:    <none>
    Environment:  <none>
    Mounts:       <none>
Containers:
  main:
    Container ID:  c://1
    Image:         i:1
    Image ID:      sha
    Ports:         80/TCP (http), 53/UDP
    Host Ports:    0/TCP (http), 5353/UDP
    Command:
      sh
      -c
      a
      b
    State:          Waiting
      Reason:       CrashLoopBackOff
    Last State:     Terminated
      Reason:       Error
      Message:      bad^[[31m
      Exit Code:    3
      Started:      Mon, 01 Jan 0001 00:00:00 +0000
      Finished:     Mon, 01 Jan 0001 00:00:00 +0000
    Ready:          False
    Restart Count:  2
    Limits:
      cpu:     1
      memory:  1Gi
    Liveness:  http-get http://:http/ok delay=0s timeout=1s period=5s successThreshold=1 failureThreshold=3
    Environment Variables from:
      conf  ConfigMap with prefix 'P_'  Optional: true
    Environment:
      PLAIN:  v
      NAME:   web (v1:metadata.name)
      KEY:    <set to the key 'k' in secret 's'>  Optional: false
    Mounts:
      /data from data (ro,path="sub")
Conditions:
  Type    Status
  Ready   False 
Volumes:
  data:
    Type:       EmptyDir (a temporary directory that shares a pod's lifetime)
    Medium:     Memory
    SizeLimit:  <unset>
  s:
    Type:        Secret (a volume populated by a Secret)
    SecretName:  x
    Optional:    false
QoS Class:       Burstable
Node-Selectors:  <none>
Tolerations:     op=Exists
                 k:NoExecute for 3s`);
});

it('shows what happened in order, each with how often and since when', () => {
  const event = (reason: string, lastTimestamp: string, count = 1): object => ({
    ...{
      type: 'Normal',
      reason,
      count,
      message: `${reason} it\n`,
      firstTimestamp: '2026-01-01T00:01:00Z',
      lastTimestamp,
    },
    ...{ source: { component: 'podloop' }, involvedObject: { fieldPath: 'spec.containers{main}' } },
  });
  const events = [event('Started', '2026-01-01T00:09:50Z', 3), event('Pulled', '2026-01-01T00:01:00Z')];
  expect(describePod({}, events, NOW).slice(-5)).toEqual([
    'Events:',
    '  Type    Reason   Age               From     Message',
    '  ----    ------   ----              ----     -------',
    '  Normal  Pulled   9m                podloop  spec.containers{main}: Pulled it',
    '  Normal  Started  10s (x3 over 9m)  podloop  spec.containers{main}: Started it',
  ]);
});

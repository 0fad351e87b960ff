/**
 * Pods as people write them; together they have every field that podloop honours, and some that it refuses. What is
 * compared with an API server are these with one thing changed.
 *
 * @module
 */

/** Plain JSON. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

const WEB: Json = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'web',
    namespace: 'shop',
    labels: { app: 'web', 'app.kubernetes.io/version': '1.2' },
    annotations: { 'prometheus.io/scrape': 'true', note: 'a text of any kind: ü' },
  },
  spec: {
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 45,
    containers: [
      {
        name: 'nginx',
        image: 'nginx:1.27',
        imagePullPolicy: 'IfNotPresent',
        command: ['nginx'],
        args: ['-g', 'daemon off;'],
        workingDir: '/srv',
        ports: [
          { name: 'http', containerPort: 80, protocol: 'TCP' },
          { name: 'dns', containerPort: 53, hostPort: 5353, protocol: 'UDP', hostIP: '127.0.0.1' },
        ],
        env: [
          { name: 'MODE', value: 'production' },
          { name: 'POD_NAME', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } } },
          { name: 'APP', valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
          {
            name: 'CPUS',
            valueFrom: {
              resourceFieldRef: { containerName: 'nginx', resource: 'limits.cpu', divisor: '1m' },
            },
          },
          {
            name: 'LEVEL',
            valueFrom: { configMapKeyRef: { name: 'settings', key: 'level', optional: true } },
          },
          { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'login', key: 'password' } } },
        ],
        envFrom: [
          { prefix: 'CONF_', configMapRef: { name: 'settings', optional: false } },
          { secretRef: { name: 'login' } },
        ],
        resources: {
          limits: { cpu: '500m', memory: '128Mi', 'ephemeral-storage': '1Gi' },
          requests: { cpu: '100m', memory: '64Mi' },
        },
        resizePolicy: [
          { resourceName: 'cpu', restartPolicy: 'NotRequired' },
          { resourceName: 'memory', restartPolicy: 'RestartContainer' },
        ],
        volumeMounts: [
          { name: 'html', mountPath: '/usr/share/nginx/html', readOnly: true, subPath: 'public' },
          { name: 'cache', mountPath: '/var/cache' },
        ],
        livenessProbe: {
          httpGet: {
            path: '/health',
            port: 'http',
            host: '127.0.0.1',
            scheme: 'HTTP',
            httpHeaders: [{ name: 'X-Probe', value: 'yes' }],
          },
          initialDelaySeconds: 3,
          timeoutSeconds: 2,
          periodSeconds: 5,
          successThreshold: 1,
          failureThreshold: 4,
          terminationGracePeriodSeconds: 10,
        },
        readinessProbe: { tcpSocket: { port: 80, host: 'localhost' }, successThreshold: 2 },
        startupProbe: { exec: { command: ['test', '-f', '/ready'] }, failureThreshold: 30 },
        lifecycle: {
          postStart: { exec: { command: ['true'] } },
          preStop: { sleep: { seconds: 5 } },
        },
        terminationMessagePath: '/dev/termination-log',
        terminationMessagePolicy: 'FallbackToLogsOnError',
      },
    ],
    volumes: [
      { name: 'html', hostPath: { path: '/srv/html', type: 'DirectoryOrCreate' } },
      { name: 'cache', emptyDir: { medium: 'Memory', sizeLimit: '64Mi' } },
    ],
  },
};

const JOB: Json = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'import.2026', labels: { job: '' } },
  spec: {
    restartPolicy: 'OnFailure',
    activeDeadlineSeconds: 600,
    hostname: 'importer',
    subdomain: 'jobs',
    setHostnameAsFQDN: false,
    initContainers: [
      { name: 'fetch', image: 'busybox', command: ['sh', '-c', 'wget -O /data/in http://example.org/'] },
      {
        name: 'log',
        image: 'busybox:latest',
        restartPolicy: 'Always',
        command: ['tail', '-F', '/data/log'],
        readinessProbe: { grpc: { port: 9000, service: 'ready' } },
        lifecycle: { preStop: { httpGet: { port: 8080, path: '/stop', httpHeaders: [] } } },
        volumeMounts: [{ name: 'data', mountPath: '/data', mountPropagation: 'HostToContainer' }],
      },
    ],
    containers: [
      {
        name: 'run',
        image:
          'registry.example:5000/team/run@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
        stdin: true,
        stdinOnce: true,
        tty: true,
        env: [
          { name: 'OUT', value: '$(DIR)/out' },
          { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
          { name: 'MEM', valueFrom: { resourceFieldRef: { resource: 'requests.memory' } } },
          {
            name: 'TOKEN',
            valueFrom: { fileKeyRef: { volumeName: 'data', path: 'etc/own.env', key: 'TOKEN' } },
          },
        ],
        restartPolicy: 'Never',
        restartPolicyRules: [
          { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [88] } },
          { action: 'Restart', exitCodes: { operator: 'NotIn', values: [0, 1] } },
        ],
        resources: { requests: { cpu: 1, memory: '1G' } },
        volumeMounts: [
          { name: 'data', mountPath: '/data', subPathExpr: '$(OUT)' },
          { name: 'conf', mountPath: '/conf', readOnly: true, recursiveReadOnly: 'IfPossible' },
          { name: 'all', mountPath: '/all' },
          { name: 'facts', mountPath: '/facts' },
        ],
      },
    ],
    volumes: [
      { name: 'data' },
      {
        name: 'conf',
        configMap: {
          name: 'settings',
          defaultMode: 420,
          optional: true,
          items: [{ key: 'app.ini', path: 'etc/app.ini', mode: 384 }],
        },
      },
      { name: 'keys', secret: { secretName: 'login', items: [{ key: 'tls.key', path: 'tls.key' }] } },
      {
        name: 'facts',
        downwardAPI: {
          defaultMode: 292,
          items: [
            { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } },
            {
              path: 'cpu',
              mode: 256,
              resourceFieldRef: { containerName: 'run', resource: 'limits.cpu', divisor: '1' },
            },
          ],
        },
      },
      {
        name: 'all',
        projected: {
          defaultMode: 420,
          sources: [
            { configMap: { name: 'settings', items: [{ key: 'a', path: 'a/b' }], optional: true } },
            { secret: { name: 'login' } },
            {
              downwardAPI: {
                items: [{ path: 'name', fieldRef: { fieldPath: "metadata.annotations['x']" } }],
              },
            },
          ],
        },
      },
    ],
  },
};

const AGENT: Json = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'node-agent',
    namespace: 'kube-system',
    uid: '5f7a3c9e-0000-4000-8000-000000000001',
    annotations: { 'container.apparmor.security.beta.kubernetes.io/agent': 'unconfined' },
  },
  spec: {
    hostNetwork: true,
    hostPID: true,
    hostIPC: true,
    dnsPolicy: 'ClusterFirstWithHostNet',
    priorityClassName: 'system-node-critical',
    priority: 2000001000,
    preemptionPolicy: 'PreemptLowerPriority',
    schedulerName: 'default-scheduler',
    enableServiceLinks: false,
    automountServiceAccountToken: false,
    nodeSelector: { 'kubernetes.io/os': 'linux' },
    tolerations: [
      { operator: 'Exists', effect: 'NoSchedule' },
      {
        key: 'node.kubernetes.io/not-ready',
        operator: 'Exists',
        effect: 'NoExecute',
        tolerationSeconds: 300,
      },
      { key: 'team', operator: 'Equal', value: 'a', effect: '' },
    ],
    securityContext: {
      runAsUser: 1000,
      runAsGroup: 1000,
      runAsNonRoot: true,
      fsGroup: 2000,
      fsGroupChangePolicy: 'OnRootMismatch',
      supplementalGroups: [3000, 4000],
      supplementalGroupsPolicy: 'Merge',
      seccompProfile: { type: 'RuntimeDefault' },
      appArmorProfile: { type: 'Localhost', localhostProfile: 'k8s-apparmor' },
      seLinuxOptions: { user: 'u', role: 'r', type: 't', level: 's0:c1' },
    },
    containers: [
      {
        name: 'agent',
        image: 'example.org/agent:1',
        ports: [{ containerPort: 9100, hostPort: 9100 }],
        securityContext: {
          privileged: false,
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          runAsUser: 0,
          runAsGroup: 0,
          runAsNonRoot: false,
          procMount: 'Default',
          capabilities: { add: ['NET_ADMIN'], drop: ['ALL'] },
          seccompProfile: { type: 'Localhost', localhostProfile: 'profiles/audit.json' },
          seLinuxOptions: { level: 's0:c2' },
        },
        volumeMounts: [{ name: 'sys', mountPath: '/host/sys', mountPropagation: 'None', readOnly: true }],
      },
      {
        name: 'helper',
        image: 'example.org/helper',
        securityContext: { privileged: true, appArmorProfile: { type: 'Unconfined' } },
        volumeMounts: [{ name: 'sys', mountPath: '/host/sys', mountPropagation: 'Bidirectional' }],
        resources: { limits: { 'hugepages-2Mi': '4Mi', memory: '100Mi' } },
      },
    ],
    volumes: [
      { name: 'sys', hostPath: { path: '/sys', type: '' } },
      { name: 'sock', hostPath: { path: '/run/agent.sock', type: 'Socket' } },
    ],
  },
};

const NETWORK: Json = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'resolver' },
  spec: {
    dnsPolicy: 'None',
    dnsConfig: {
      nameservers: ['10.96.0.10', 'fd00::10'],
      searches: ['shop.svc.cluster.local', '_tcp.example.org.'],
      options: [{ name: 'ndots', value: '2' }, { name: 'edns0' }],
    },
    hostAliases: [
      { ip: '10.1.2.3', hostnames: ['db.example.org', 'db'] },
      { ip: 'fd00::1', hostnames: [] },
    ],
    hostnameOverride: 'resolver.example.org',
    imagePullSecrets: [{ name: 'registry' }],
    runtimeClassName: 'sandboxed',
    os: { name: 'linux' },
    shareProcessNamespace: true,
    securityContext: {
      sysctls: [
        { name: 'net.ipv4.ip_unprivileged_port_start', value: '0' },
        { name: 'kernel.shm_rmid_forced', value: '1' },
      ],
    },
    hostUsers: true,
    schedulingGates: [{ name: 'example.org/quota' }, { name: 'data' }],
    containers: [
      {
        name: 'dns',
        image: 'coredns/coredns',
        lifecycle: { stopSignal: 'SIGUSR1', preStop: { tcpSocket: { port: 'dns', host: '127.0.0.1' } } },
        ports: [{ name: 'dns', containerPort: 53, protocol: 'UDP' }],
      },
    ],
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            {
              matchExpressions: [
                { key: 'kubernetes.io/arch', operator: 'In', values: ['amd64', 'arm64'] },
                { key: 'cores', operator: 'Gt', values: ['3'] },
                { key: 'gpu', operator: 'DoesNotExist' },
              ],
              matchFields: [{ key: 'metadata.name', operator: 'In', values: ['node-1'] }],
            },
          ],
        },
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 10, preference: { matchExpressions: [{ key: 'ssd', operator: 'Exists' }] } },
        ],
      },
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          {
            topologyKey: 'kubernetes.io/hostname',
            namespaces: ['shop'],
            labelSelector: { matchLabels: { app: 'web' } },
            matchLabelKeys: ['pod-template-hash'],
          },
        ],
      },
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          {
            weight: 100,
            podAffinityTerm: {
              topologyKey: 'topology.kubernetes.io/zone',
              labelSelector: { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['web'] }] },
              namespaceSelector: {},
            },
          },
        ],
      },
    },
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: 'topology.kubernetes.io/zone',
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: { matchLabels: { app: 'web' } },
        minDomains: 2,
        nodeAffinityPolicy: 'Honor',
        nodeTaintsPolicy: 'Ignore',
        matchLabelKeys: ['pod-template-hash'],
      },
      { maxSkew: 5, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'ScheduleAnyway' },
    ],
  },
};

/** What helm charts and generators leave: much of it empty. */
const CHART: Json = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'release-test',
    labels: { 'helm.sh/chart': 'app-1.0.0', 'app.kubernetes.io/managed-by': 'Helm' },
    annotations: { 'helm.sh/hook': 'test', checksum: '' },
  },
  spec: {
    restartPolicy: 'Never',
    securityContext: {},
    nodeSelector: {},
    tolerations: [],
    affinity: {},
    imagePullSecrets: [],
    volumes: [],
    initContainers: [],
    containers: [
      {
        name: 'wget',
        image: 'busybox:1.36',
        command: ['wget'],
        args: ['app:80'],
        env: [{ name: 'EMPTY', value: '' }],
        envFrom: [],
        ports: [],
        resources: { limits: {}, requests: {} },
        securityContext: {},
        volumeMounts: [],
      },
    ],
  },
};

/** By name, for messages. */
export const SEED_PODS: Readonly<Record<string, Json>> = { WEB, JOB, AGENT, NETWORK, CHART };

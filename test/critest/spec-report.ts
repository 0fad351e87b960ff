/** What became of one spec of the suite. */
export interface SpecResult {
  /** The texts of its containers and its own, without the marks. */
  readonly path: readonly string[];
  readonly conformance: boolean;
  readonly state: 'passed' | 'failed' | 'skipped';
  /** Why it failed or was skipped, in the suite's words; empty when it passed. */
  readonly message: string;
  /** Where in the suite's source it stands: `container.go:82`. */
  readonly place: string;
}

/** The parts of Ginkgo's JSON report that are read here. */
interface GinkgoSuite {
  readonly SpecReports: readonly GinkgoSpec[] | null;
}

interface GinkgoSpec {
  readonly ContainerHierarchyTexts: readonly string[] | null;
  readonly LeafNodeType: string;
  readonly LeafNodeText: string;
  readonly LeafNodeLocation: { readonly FileName: string; readonly LineNumber: number };
  readonly State: string;
  readonly Failure?: { readonly Message?: string };
}

const CONFORMANCE = '[Conformance]';

/** Reads the report that `critest -ginkgo.json-report` writes; sorted by the specs' names. */
export function parseSpecReport(text: string): SpecResult[] {
  const suites = JSON.parse(text) as readonly GinkgoSuite[];
  return suites
    .flatMap(({ SpecReports }) => SpecReports ?? [])
    .filter(({ LeafNodeType }) => LeafNodeType === 'It')
    .map(toSpecResult)
    .sort((one, other) => (one.path.join(' ') < other.path.join(' ') ? -1 : 1));
}

function toSpecResult(spec: GinkgoSpec): SpecResult {
  const texts = [...(spec.ContainerHierarchyTexts ?? []), spec.LeafNodeText];
  const { FileName, LineNumber } = spec.LeafNodeLocation;
  return {
    path: texts.map((text) => text.replace('[k8s.io] ', '').replace(` ${CONFORMANCE}`, '').trim()),
    conformance: texts.some((text) => text.includes(CONFORMANCE)),
    // Anything else (panicked, interrupted, timed out) is a failure, whatever Ginkgo calls it.
    state: spec.State === 'passed' || spec.State === 'skipped' ? spec.State : 'failed',
    message: spec.Failure?.Message ?? '',
    place: `${FileName.slice(FileName.lastIndexOf('/') + 1)}:${LineNumber}`,
  };
}

/** How many passed, of how many. */
export interface PassCount {
  readonly passed: number;
  readonly all: number;
}

export function countPasses(results: readonly SpecResult[]): { conformance: PassCount; all: PassCount } {
  const count = (chosen: readonly SpecResult[]): PassCount => ({
    passed: chosen.filter(({ state }) => state === 'passed').length,
    all: chosen.length,
  });
  return { conformance: count(results.filter(({ conformance }) => conformance)), all: count(results) };
}

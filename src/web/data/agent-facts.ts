/** What the agent says about itself; an observer has no such page. */
export interface AgentFacts {
  readonly nodeName?: string;
  readonly version?: string;
  readonly runtime?: { readonly name?: string; readonly version?: string };
  readonly startedAt?: string;
  readonly manifests?: readonly string[];
  readonly problems?: readonly string[];
  readonly rootDir?: string;
}

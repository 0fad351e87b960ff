import { ImageServiceService, RuntimeServiceService } from '#watch/messages';

/** A method of CRI v1, as recordings know it. */
export interface RecordedMethod {
  /** `ListContainers` */
  readonly name: string;
  /** `/runtime.v1.RuntimeService/ListContainers` */
  readonly path: string;
  readonly streams: boolean;
  /** Names of its messages. */
  readonly requestType: string;
  readonly responseType: string;
}

/** Whose messages are not called after the method. */
const ODD_TYPES: Readonly<Record<string, readonly [request: string, response: string]>> = {
  GetContainerEvents: ['GetEventsRequest', 'ContainerEventResponse'],
};

/** Every method of CRI v1 by its path. */
export const RECORDED_METHODS: ReadonlyMap<string, RecordedMethod> = new Map(
  Object.values({ ...RuntimeServiceService, ...ImageServiceService }).map(({ path, responseStream }) => {
    const name = path.slice(path.lastIndexOf('/') + 1);
    const [requestType, responseType] = ODD_TYPES[name] ?? [`${name}Request`, `${name}Response`];
    return [path, { name, path, streams: responseStream, requestType, responseType }];
  }),
);

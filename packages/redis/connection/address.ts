/**
 * The address of Redis, in the forms of REDIS_URL:
 *
 *   redis://user:password@host:6379/0                                   one server; rediss:// over TLS
 *   redis-sentinel://user:password@host:26379,host:26379/mymaster/0     the server that the sentinels call `mymaster`
 *   redis-cluster://user:password@host:7000,host:7001                   a cluster, found through any of its nodes
 *
 * `rediss-sentinel://` and `rediss-cluster://` over TLS. Sentinels with a password of their own:
 * `?sentinelPassword=…&sentinelUsername=…`. User and password may be percent-encoded.
 */

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

export interface Login {
  readonly username?: string;
  readonly password?: string;
  readonly db?: number;
  readonly tls?: object;
}

export type RedisAddress =
  | { readonly type: "single"; readonly url: string }
  | {
      readonly type: "sentinel";
      readonly sentinels: readonly Endpoint[];
      /** The sentinels' name for it. */
      readonly name: string;
      readonly login: Login;
      readonly sentinelLogin: { readonly sentinelUsername?: string; readonly sentinelPassword?: string };
    }
  | { readonly type: "cluster"; readonly nodes: readonly Endpoint[]; readonly login: Login };

const SINGLE = /^rediss?:\/\//;
const SEVERAL =
  /^redis(?<tls>s?)-(?<type>sentinel|cluster):\/\/(?:(?<user>[^:@/]*)(?::(?<password>[^@/]*))?@)?(?<hosts>[^/?]+)(?:\/(?<name>[^/?]+))?(?:\/(?<db>\d+))?\/?(?:\?(?<query>.*))?$/;
const HOST = /^(?<host>\[[^\]]+\]|[^:[\]]+)(?::(?<port>\d{1,5}))?$/;
const DEFAULT_PORTS = { sentinel: 26_379, cluster: 6_379 } as const;

/** Undefined if the text is not an address of a Redis. */
export function parseAddress(url: string): RedisAddress | undefined {
  if (SINGLE.test(url)) return isSingle(url) ? { type: "single", url } : undefined;
  const parts = SEVERAL.exec(url)?.groups;
  if (!parts || !isEncoded(parts["user"]) || !isEncoded(parts["password"])) return undefined;
  const type = parts["type"] === "sentinel" ? "sentinel" : "cluster";
  const endpoints = (parts["hosts"] ?? "").split(",").map((text) => parseEndpoint(text, DEFAULT_PORTS[type]));
  if (!endpoints.every((endpoint) => endpoint !== undefined)) return undefined;

  const { user, password, name, db, query } = parts;
  const login: Login = {
    ...(user && { username: decodeURIComponent(user) }),
    ...(password && { password: decodeURIComponent(password) }),
    ...(db && { db: Number(db) }),
    ...(parts["tls"] && { tls: {} }),
  };
  // A cluster has one database, and no name.
  if (type === "cluster") return name === undefined ? { type, nodes: endpoints, login } : undefined;
  if (name === undefined) return undefined;
  const own = new URLSearchParams(query);
  const [sentinelUsername, sentinelPassword] = [own.get("sentinelUsername"), own.get("sentinelPassword")];
  const sentinelLogin = { ...(sentinelUsername && { sentinelUsername }), ...(sentinelPassword && { sentinelPassword }) };
  return { type, sentinels: endpoints, name, login, sentinelLogin };
}

function isSingle(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { username, password } = new URL(url);
  return isEncoded(username) && isEncoded(password);
}

/** Whether every % begins an encoded character. Decoding would throw otherwise, here or in ioredis. */
function isEncoded(text = ""): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

function parseEndpoint(text: string, defaultPort: number): Endpoint | undefined {
  const { host, port } = HOST.exec(text)?.groups ?? {};
  if (host === undefined || Number(port) > 65_535) return undefined;
  return { host: host.replace(/^\[|\]$/g, ""), port: port === undefined ? defaultPort : Number(port) };
}

/** The address in a form that may be logged. */
export function withoutPassword(url: string): string {
  if (!parseAddress(url)) return "an address that is not a URL";
  return url.replace(/^([^:]+:\/\/)(?:[^/?]*@)?([^?]*).*$/, "$1$2");
}

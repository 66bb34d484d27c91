// Carries out the recipe in the args of this step on a mihomo file:
//   append    lists by path, and what they get unless they have it
//   remove    lists by path, and what is taken out of them
//   policy    DNS servers by domain
//   proxy     a proxy, which gets auth_key if there is one
//   rules     rules, put before those for private networks, China or the rest
// It does all of it or fails, and changes nothing where all is done already.

let changed = false;

function main(input, api) {
  const asked = (input.request && input.request.args) || {};
  for (const name of ["preset_id", "recipe", "auth_key"]) {
    if (name in asked) throw new Error("a request may not set " + name);
  }
  const { recipe, auth_key } = input.args;
  const file = api.yaml.parse(input.file.content);
  if (!isMap(file)) throw new Error("the file is no mapping");

  for (const [path, values] of Object.entries(recipe.append || {})) {
    const list = listAt(file, path, true);
    put(list, list.length, values.filter((value) => !list.includes(value)));
  }
  for (const [path, values] of Object.entries(recipe.remove || {})) {
    const list = listAt(file, path, false);
    for (let i = list.length - 1; i >= 0; i--) {
      if (!values.includes(list[i])) continue;
      list.splice(i, 1);
      changed = true;
    }
  }
  for (const [domain, server] of Object.entries(recipe.policy || {})) {
    const policy = mapAt(mapAt(file, "dns"), "nameserver-policy");
    if (policy[domain] === server) continue;
    policy[domain] = server;
    changed = true;
  }
  if (recipe.proxy) addProxy(file, auth_key ? { ...recipe.proxy, "auth-key": auth_key } : recipe.proxy);
  if (recipe.rules) insertRules(file, recipe.rules);

  if (!changed) return;
  input.file.content = api.yaml.stringify(file);
  return input;
}

function put(list, at, values) {
  list.splice(at, 0, ...values);
  if (values.length > 0) changed = true;
}

function isMap(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function mapAt(parent, key) {
  if (parent[key] === undefined || parent[key] === null) parent[key] = {};
  if (!isMap(parent[key])) throw new Error(key + " is no mapping");
  return parent[key];
}

// What mihomo takes a list for that is not there.
const absent = { "lan-allowed-ips": ["0.0.0.0/0", "::/0"] };

// listAt returns the list at a dotted path. One that is not there is made if it
// is going to be written to.
function listAt(file, path, make) {
  const keys = path.split(".");
  const last = keys.pop();
  let parent = file;
  for (const key of keys) {
    if (!make && (parent[key] === undefined || parent[key] === null)) return [];
    parent = mapAt(parent, key);
  }
  if (parent[last] === undefined || parent[last] === null) {
    if (!make) return [];
    parent[last] = (absent[path] || []).slice();
  }
  if (!Array.isArray(parent[last])) throw new Error(path + " is no list");
  return parent[last];
}

function addProxy(file, proxy) {
  const list = listAt(file, "proxies", true);
  for (const group of listAt(file, "proxy-groups", false)) {
    if (isMap(group) && group.name === proxy.name) throw new Error("a group has the name " + proxy.name);
  }
  for (const other of list) {
    if (!isMap(other) || other.name !== proxy.name) continue;
    if (other.type === proxy.type) return;
    throw new Error("another proxy has the name " + proxy.name);
  }
  put(list, list.length, [proxy]);
}

function insertRules(file, rules) {
  const list = listAt(file, "rules", false);
  const form = (rule) => String(rule).split(",").map((part) => part.trim()).join(",");
  const have = list.map(form);
  const fresh = rules.filter((rule) => !have.includes(rule));
  if (fresh.length === 0) return;
  for (const start of ["RULE-SET,private,", "GEOIP,CN,", "MATCH,"]) {
    const at = have.findIndex((rule) => rule.startsWith(start));
    if (at < 0) continue;
    put(list, at, fresh);
    return;
  }
  throw new Error("there is no rule for private networks, China or the rest to put rules before");
}

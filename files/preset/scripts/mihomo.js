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
  const text = input.file.content;
  const parts = recipe.proxy ? undefined : cut(api, text, membersOf(recipe));
  const file = parts ? Object.assign({}, ...parts.map((part) => part.value)) : api.yaml.parse(text);
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
  input.file.content = parts ? join(api, text, parts, file) : api.yaml.stringify(file);
  return input;
}

// cut finds the members with these names in the text, so that the nodes, by far
// the most of it, need not be read. It returns nothing where a line does not say
// for certain what it is; the whole text is read then.
function cut(api, text, names) {
  if (text.includes("\n---") || text.includes("\t")) return;
  const parts = [];
  for (const name of names) {
    const begins = "\n" + name + ":";
    const start = text.startsWith(name + ":") ? 0 : text.indexOf(begins) + 1;
    if (start === 0 && !text.startsWith(name + ":") || text.includes(begins, start)) return;
    const end = endOf(text, start);
    const part = text.slice(start, end);
    if (part.includes("&")) return; // other members may refer to it
    let value;
    try {
      value = api.yaml.parse(part);
    } catch (e) {
      return;
    }
    if (!isMap(value) || Object.keys(value).length !== 1 || !(name in value)) return;
    parts.push({ name, start, end, value });
  }
  return parts.sort((a, b) => a.start - b.start);
}

// endOf returns where the last line of a member ends that is more than blank or
// a comment.
function endOf(text, start) {
  let end = text.indexOf("\n", start) + 1 || text.length;
  for (let at = end; at < text.length; ) {
    const next = text.indexOf("\n", at) + 1 || text.length;
    if (text[at] === " " || text[at] === "-") end = next;
    else if (!"#\r\n".includes(text[at])) break;
    at = next;
  }
  return end;
}

// join puts the members back in their places.
function join(api, text, parts, file) {
  let out = "";
  let at = 0;
  for (const part of parts) {
    out += text.slice(at, part.start) + api.yaml.stringify({ [part.name]: file[part.name] });
    at = part.end;
  }
  return out + text.slice(at);
}

// membersOf lists the members of a file that a recipe reads or writes.
function membersOf(recipe) {
  const paths = Object.keys(recipe.append || {}).concat(Object.keys(recipe.remove || {}));
  if (recipe.policy) paths.push("dns");
  if (recipe.rules) paths.push("rules");
  return [...new Set(paths.map((path) => path.split(".")[0]))];
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

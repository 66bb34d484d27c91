// Carries out the recipe in the args of this step on a sing-box file:
//   tun         members of the TUN inbound
//   exclude     ranges that the TUN leaves alone from now on
//   include     ranges that it does not leave alone any more
//   endpoint    an endpoint, which gets auth_key if there is one
//   dns_server  a DNS server
//   dns_rule    a DNS rule, put first
//   first       rules, put first
//   rules       rules, put before those for private networks or the rest
// It does all of it or fails, and changes nothing where all is done already.

let changed = false;

function main(input) {
  const asked = (input.request && input.request.args) || {};
  for (const name of ["preset_id", "recipe", "auth_key"]) {
    if (name in asked) throw new Error("a request may not set " + name);
  }
  const { recipe, auth_key } = input.args;
  const file = JSON.parse(input.file.content);
  if (!isMap(file)) throw new Error("the file is no object");

  if (recipe.tun || recipe.exclude || recipe.include) {
    const tun = theTUN(file);
    for (const [key, value] of Object.entries(recipe.tun || {})) {
      changed = changed || tun[key] !== value;
      tun[key] = value;
    }
    const left = asList(tun.route_exclude_address, "route_exclude_address");
    const fresh = (recipe.exclude || []).filter((range) => !left.includes(range));
    const kept = left.filter((range) => !(recipe.include || []).includes(range));
    if (fresh.length > 0 || kept.length < left.length) {
      tun.route_exclude_address = kept.concat(fresh);
      changed = true;
    }
  }
  if (recipe.endpoint) {
    if (listIn(file, "outbounds").some((o) => o.tag === recipe.endpoint.tag)) throw new Error("an outbound has the tag " + recipe.endpoint.tag);
    const endpoint = auth_key ? { ...recipe.endpoint, auth_key } : recipe.endpoint;
    add(listIn(file, "endpoints"), endpoint, (other) => other.type === endpoint.type);
  }
  if (recipe.dns_server) add(listIn(mapIn(file, "dns"), "servers"), recipe.dns_server, (other) => same(other, recipe.dns_server));
  if (recipe.dns_rule) prepend(listIn(mapIn(file, "dns"), "rules"), [recipe.dns_rule]);
  if (recipe.first) prepend(listIn(mapIn(file, "route"), "rules"), recipe.first);
  if (recipe.rules) insertRules(listIn(mapIn(file, "route"), "rules"), recipe.rules);

  if (!changed) return;
  input.file.content = JSON.stringify(file, null, 2) + (input.file.content.endsWith("\n") ? "\n" : "");
  return input;
}

function put(list, at, values) {
  list.splice(at, 0, ...values);
  if (values.length > 0) changed = true;
}

function isMap(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function mapIn(parent, key) {
  if (parent[key] === undefined || parent[key] === null) parent[key] = {};
  if (!isMap(parent[key])) throw new Error(key + " is no object");
  return parent[key];
}

function listIn(parent, key) {
  if (parent[key] === undefined || parent[key] === null) parent[key] = [];
  if (!Array.isArray(parent[key]) || !parent[key].every(isMap)) throw new Error(key + " is no list of objects");
  return parent[key];
}

// The client takes one value where a list of one is meant.
function asList(value, name) {
  if (value === undefined || value === null) return [];
  if (typeof value === "string") return [value];
  if (!Array.isArray(value)) throw new Error(name + " is no list");
  return value;
}

// same compares what the client takes for the same: order of members aside, and
// one value for a list of one.
function same(a, b) {
  return form(a) === form(b);
}

function form(value) {
  if (Array.isArray(value)) return value.length === 1 ? form(value[0]) : "[" + value.map(form).join() + "]";
  if (!isMap(value)) return JSON.stringify(value);
  return "{" + Object.keys(value).sort().map((key) => JSON.stringify(key) + ":" + form(value[key])).join() + "}";
}

// theTUN is the inbound tun-in, else the only one of its type.
function theTUN(file) {
  const inbounds = listIn(file, "inbounds");
  const named = inbounds.filter((inbound) => inbound.tag === "tun-in");
  const found = named.length > 0 ? named : inbounds.filter((inbound) => inbound.type === "tun");
  if (found.length !== 1) throw new Error(found.length === 0 ? "there is no TUN inbound" : "there are several TUN inbounds and none is tun-in");
  if (found[0].type !== "tun") throw new Error("the inbound tun-in is no TUN");
  return found[0];
}

// add puts a tagged object at the end, unless one that will do is there.
function add(list, object, willDo) {
  const other = list.find((o) => o.tag === object.tag);
  if (!other) put(list, list.length, [object]);
  else if (!willDo(other)) throw new Error("something else has the tag " + object.tag);
}

function missing(list, rules) {
  return rules.filter((rule) => !list.some((other) => same(other, rule)));
}

function prepend(list, rules) {
  put(list, 0, missing(list, rules));
}

// What a rule may have and still match everything.
const options = ["action", "outbound", "method", "no_drop"];

function insertRules(list, rules) {
  const fresh = missing(list, rules);
  if (fresh.length === 0) return;
  const anchors = [
    (rule) => rule.type !== "logical" && asList(rule.rule_set, "rule_set").includes("private"),
    (rule) => rule.ip_is_private === true,
    (rule) => Object.keys(rule).every((key) => options.includes(key)) && [undefined, "route", "reject"].includes(rule.action),
  ];
  for (const anchor of anchors) {
    const at = list.findIndex(anchor);
    if (at < 0) continue;
    put(list, at, fresh);
    return;
  }
  throw new Error("there is no rule for private networks or the rest to put rules before");
}

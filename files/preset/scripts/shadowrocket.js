// Carries out the recipe in the args of this step on a Shadowrocket file:
//   append   settings of [General], and what their lists get unless they have it
//   first    rules, put first in [Rule]
//   rules    rules, put before those for private networks, China or the rest
// It does all of it or fails, and changes nothing where all is done already.

function main(input, api) {
  const asked = (input.request && input.request.args) || {};
  for (const name of ["preset_id", "recipe"]) {
    if (name in asked) throw new Error("a request may not set " + name);
  }
  const { recipe } = input.args;
  const file = api.ini.parse(input.file.content);
  const before = JSON.stringify(file);

  if (recipe.append) {
    const general = sections(file, "General");
    if (general.length !== 1) throw new Error("there is not one section [General] but " + general.length);
    for (const [key, values] of Object.entries(recipe.append)) append(general[0].lines, key, values);
  }
  if (recipe.first || recipe.rules) {
    const [section] = sections(file, "Rule");
    if (!section) throw new Error("there is no section [Rule]");
    const have = section.lines.map(form);
    const missing = (rules) => (rules || []).filter((rule) => !have.includes(rule));
    insert(section.lines, have, missing(recipe.rules));
    section.lines.unshift(...missing(recipe.first));
  }

  if (JSON.stringify(file) === before) return;
  input.file.content = api.ini.stringify(file);
  return input;
}

function sections(file, name) {
  return file.sections.filter((section) => section.name.toLowerCase() === name.toLowerCase());
}

// form is a rule without the blanks that the client does not see.
function form(line) {
  return line.split(",").map((part) => part.trim()).join(",");
}

function append(lines, key, values) {
  const at = lines.findIndex((line) => line.split("=")[0].trim() === key);
  if (at < 0) {
    // A blank line at the end separates the section from the next one.
    let end = lines.length;
    while (end > 0 && lines[end - 1].trim() === "") end--;
    lines.splice(end, 0, key + " = " + values.join(","));
    return;
  }
  const text = lines[at].slice(lines[at].indexOf("=") + 1).trim();
  const have = text === "" ? [] : text.split(",").map((part) => part.trim());
  const fresh = values.filter((value) => !have.includes(value));
  if (fresh.length > 0) lines[at] = key + " = " + have.concat(fresh).join(",");
}

function insert(lines, have, rules) {
  if (rules.length === 0) return;
  for (const start of ["IP-CIDR,10.0.0.0/8,", "GEOIP,CN,", "FINAL,"]) {
    const at = have.findIndex((line) => line.startsWith(start));
    if (at < 0) continue;
    lines.splice(at, 0, ...rules);
    return;
  }
  throw new Error("there is no rule for private networks, China or the rest to put rules before");
}

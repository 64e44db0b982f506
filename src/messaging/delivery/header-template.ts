/** HTTP headers of requests that have all names and most values in common. */

/** A value that all requests have in common, or the index of it in the list of values that each request has. */
export type TemplateValue = string | number;

export class HeaderTemplate {
  readonly names: readonly string[];
  /** One for each name. */
  readonly values: readonly TemplateValue[];

  /** `fields`: name, value, name, value, … */
  constructor(fields: readonly (readonly [name: string, value: TemplateValue])[]) {
    this.names = fields.map(([name]) => name);
    this.values = fields.map(([, value]) => value);
  }

  /** The headers of a request with these values: name, value, name, value, … */
  headersWith(own: readonly string[]): string[] {
    const headers: string[] = [];
    for (const [index, value] of this.values.entries()) {
      headers.push(this.names[index] ?? "", typeof value === "string" ? value : (own[value] ?? ""));
    }
    return headers;
  }
}

/* Types of the HTTP API, generated from its OpenAPI document. Keys may be added within version 1. */

/** Record that the search dialog sends when a search has ended: the reader opened a result, left, or rephrased. */
export interface Beacon {
  /** As typed; empty for a list of pages. */
  query?: string;
  /** The engine that answered. */
  mode?: "online" | "slow" | "better" | "degraded" | "static" | "loading" | "reserve" | "building" | "fallback";
  /** Language of the dialog. */
  language?: string;
  /** Values by field; a range is `2023..2025`. */
  filters?: Record<string, string[]>;
  /** Number of results that match. */
  matches: number;
  /** Score of the best result. */
  score?: number | null;
  /** Similarity of the best result and the query. */
  similarity?: number | null;
  /** Words of the query and their corrections. */
  corrected?: Record<string, string>;
  /** Path of the page that was opened. */
  opened?: string | null;
  /** Rank of that page among the results. */
  rank?: number | null;
  /** The reader rephrased the query in the open dialog. */
  rephrased?: boolean;
}

/** The field has this value; a list field contains it (or any of them, if `value` is a list). */
export interface Equals {
  field: string;
  value: string | boolean | number | (string | boolean | number)[];
  negate?: boolean;
  op: "equals";
}

/** The error message, and the request field that caused the error, if there is one. */
export interface ErrorDetail {
  code: string;
  message: string;
  field: string | null;
}

/** The body of every error; if one of several indexes is not loaded, `indexes` has those that are. */
export interface ErrorResponse {
  error: ErrorDetail;
  indexes?: IndexAnswer[] | null;
}

/** The field has a value that is neither missing nor null nor an empty list. */
export interface Exists {
  field: string;
  negate?: boolean;
  op: "exists";
}

/** A value of a facet field and the number of results that have it. */
export interface FacetCount {
  value: string | number | boolean;
  count: number;
}

/** A facet field with its values, most frequent first. */
export interface FacetField {
  name: string;
  type: string;
  label: string;
  values: FacetCount[];
}

/** Every facet field of the index; on a server with several indexes, `indexes` has the `site_url` of each. */
export interface FacetsResponse {
  build_id: string;
  site_url?: string;
  facets: FacetField[];
  indexes?: IndexAnswer[] | null;
}

/** The process is alive. */
export interface HealthResponse {
  status: "ok";
}

/** The field has one of these values; a list field contains at least one of them. */
export interface In {
  field: string;
  values: (string | boolean | number)[];
  negate?: boolean;
  op: "in";
}

/** One of several indexes in a response; the URLs of its results are relative to `site_url`. */
export interface IndexAnswer {
  name: string;
  build_id: string;
  site_url: string;
  total_results?: number;
}

/** One of several indexes. */
export interface NamedReadyIndex {
  build_id?: string | null;
  model?: string | null;
  embedder?: "ready" | "unavailable" | null;
  update?: "ok" | "refused" | "unreachable" | null;
  pages?: number | null;
  sections?: number | null;
  chunks?: number | null;
  created?: string | null;
  site_name?: string | null;
  name: string;
  status: "ready";
}

/** The page of a result. */
export interface PageInfo {
  path: string;
  url: string;
  title: string;
  breadcrumbs: string[];
  frontmatter: Record<string, unknown>;
  file_size: number;
  chunk_count: number;
  languages: string[];
  primary_language: string | null;
  last_modified: string | null;
  indexed_at: string | null;
  content_hash: string | null;
  language: string | null;
  translations: Record<string, string>;
}

/** A whole page: its metadata and its sections in order, one entry for each chunk. */
export interface PageResponse {
  page: PageInfo;
  sections: SectionInfo[];
  build_id: string;
}

/** The field's text starts with this value; on `page.path` this selects a folder. */
export interface Prefix {
  field: string;
  value: string;
  negate?: boolean;
  op: "prefix";
}

/** The field lies between `min` and `max`, both included; one of them may be missing. A date is `2026-01-31`. */
export interface Range {
  field: string;
  min?: string | number | null;
  max?: string | number | null;
  negate?: boolean;
  op: "range";
}

/** The index is loaded, or all indexes are. If a token is needed but missing, `status` is the only key. */
export interface ReadyResponse {
  build_id?: string | null;
  model?: string | null;
  embedder?: "ready" | "unavailable" | null;
  update?: "ok" | "refused" | "unreachable" | null;
  pages?: number | null;
  sections?: number | null;
  chunks?: number | null;
  created?: string | null;
  site_name?: string | null;
  status: "ready";
  indexes?: NamedReadyIndex[] | null;
}

/** The pages nearest to one page, nearest first. */
export interface RelatedResponse {
  build_id: string;
  path: string;
  results: SearchResult[];
}

/** The two parts of a score; both are None in `browse` mode, where every score is 0. */
export interface Scores {
  semantic: number | null;
  lexical: number | null;
}

/** One search request: a query, and the indexes to search. Unknown keys are an error. */
export interface SearchRequest {
  /** 1 to 8000 characters after trimming. A query that is completely in double quotes searches for that phrase. With a filter it may be empty: it lists the pages that pass the filters. */
  query: string;
  /** Maximum number of results. */
  limit?: number;
  /** Number of results to skip. */
  offset?: number;
  /** Unit of a result; `chunk` means `section` and `document` means `page`. */
  granularity?: "section" | "page" | "chunk" | "document";
  /** Maximum number of sections per page. */
  sections_per_page?: number;
  /** Rank by meaning (semantic), by words (lexical), or both. */
  mode?: "hybrid" | "semantic" | "lexical";
  /** Lowest score of a result. */
  min_score?: number;
  /** Filters that must all hold. */
  filters?: (Equals | In | Range | Exists | Prefix)[];
  /** Fields whose values are counted over all matches. */
  facets?: string[];
  /** Append weaker results after the matches, see `weaker_results`. */
  include_weak?: boolean;
  /** Allow a word that the site does not have to be corrected. */
  correct?: boolean;
  /** Add the partial scores and the rule that moved a result. */
  explain?: boolean;
  /** Language of the reader, such as `uk` or `pt-BR`: pages in others score lower. */
  language?: string;
  /** Order by score, or `newest`: by `last_modified` of the page, matches first. */
  sort?: "relevance" | "newest";
  /** Names of indexes on a server with several; all by default. */
  indexes?: string[];
}

/** The response to one `SearchQuery`, a sequence of results; all fields come from the build named in `build_id`. */
export interface SearchResponse {
  query: string;
  mode: "hybrid" | "semantic" | "lexical" | "browse";
  granularity: "section" | "page";
  build_id: string;
  took_ms: number;
  total_results: number;
  weaker_results: number;
  filters_applied: (Equals | In | Range | Exists | Prefix)[];
  facets: Record<string, FacetCount[]>;
  results: SearchResult[];
  degraded?: boolean;
  corrected?: Record<string, string>;
  missing_phrases?: string[];
  indexes?: IndexAnswer[] | null;
  insights?: boolean;
}

/** One ranked result: `section` with granularity `section`, `sections` with granularity `page`. */
export interface SearchResult {
  score: number;
  scores: Scores;
  page: PageInfo;
  weak?: boolean;
  explain?: Record<string, unknown> | null;
  section?: SectionInfo | null;
  duplicates?: number;
  sections?: SectionHit[] | null;
  more_sections?: number;
  index?: string | null;
}

/** The section of a result, represented by its best chunk. */
export interface SectionHit {
  chunk_index: number;
  heading_hierarchy: string[];
  anchor: string | null;
  content: string;
  kind: "text" | "code" | "table" | "api";
  language: string | null;
  start_line: number | null;
  end_line: number | null;
  char_start: number | null;
  char_end: number | null;
  node_type: string | null;
  node_name: string | null;
  parent_context: string | null;
  scope_path: string[];
  node_types?: string[];
  node_names?: string[];
  parent_contexts?: string[];
  scope_depth?: number | null;
  definitions: string[];
  references: string[];
  chunk_id: string;
  url: string;
  excerpt: string;
  highlights: [number, number][];
  score: number;
  scores: Scores;
}

/** The section of a result, represented by its best chunk. */
export interface SectionInfo {
  chunk_index: number;
  heading_hierarchy: string[];
  anchor: string | null;
  content: string;
  kind: "text" | "code" | "table" | "api";
  language: string | null;
  start_line: number | null;
  end_line: number | null;
  char_start: number | null;
  char_end: number | null;
  node_type: string | null;
  node_name: string | null;
  parent_context: string | null;
  scope_path: string[];
  node_types?: string[];
  node_names?: string[];
  parent_contexts?: string[];
  scope_depth?: number | null;
  definitions: string[];
  references: string[];
  chunk_id: string;
  url: string;
  excerpt: string;
  highlights: [number, number][];
}

/* Lax checking of arguments; see schema.h. */
#include "agent/tools/schema.h"

#include <errno.h>
#include <math.h>
#include <strings.h>

#include "agent/base/path.h"

static bool
type_is(const cJSON *property, const char *type)
{
	const cJSON *t = cJSON_GetObjectItemCaseSensitive(property, "type");
	const cJSON *one;

	if (cJSON_IsString(t))
		return strcmp(t->valuestring, type) == 0;
	cJSON_ArrayForEach(one, t) {
		if (cJSON_IsString(one) && strcmp(one->valuestring, type) == 0)
			return true;
	}
	return false;
}

static bool
real_of(const cJSON *value, double *out)
{
	char *end;

	if (cJSON_IsBool(value)) {
		*out = cJSON_IsTrue(value);
		return true;
	}
	if (cJSON_IsNumber(value)) {
		*out = value->valuedouble;
		return true;
	}
	if (!cJSON_IsString(value) || !*value->valuestring ||
	    strspn(value->valuestring, "0123456789+-. ") !=
		strlen(value->valuestring))
		return false;
	*out = strtod(value->valuestring, &end);
	return end != value->valuestring && end[strspn(end, " ")] == '\0';
}

/* Gives; NULL with the fault. */
static cJSON *
as_integer(const cJSON *property, const cJSON *value, const char **fault)
{
	const cJSON *least =
	    cJSON_GetObjectItemCaseSensitive(property, "minimum");
	double real;

	if (!real_of(value, &real)) {
		*fault = "Input should be a valid integer";
		return NULL;
	}
	if (real != trunc(real) || fabs(real) > 9007199254740991.0) {
		*fault = "Input should be a valid integer, got a number with "
			 "a fractional part";
		return NULL;
	}
	if (least && real < least->valuedouble) {
		*fault = "Input is below the least value allowed";
		return NULL;
	}
	return cJSON_CreateNumber(real);
}

static cJSON *
as_boolean(const cJSON *value, const char **fault)
{
	static const char *const yes[] = { "true", "1", "yes", "on", "t", "y" };
	static const char *const no[] = { "false", "0", "no", "off", "f", "n" };

	if (cJSON_IsBool(value))
		return cJSON_CreateBool(cJSON_IsTrue(value));
	if (cJSON_IsNumber(value) &&
	    (value->valuedouble == 0 || value->valuedouble == 1))
		return cJSON_CreateBool(value->valuedouble == 1);
	for (size_t i = 0; cJSON_IsString(value) && i < ARRAY_SIZE(yes); i++) {
		if (strcasecmp(value->valuestring, yes[i]) == 0)
			return cJSON_CreateTrue();
		if (strcasecmp(value->valuestring, no[i]) == 0)
			return cJSON_CreateFalse();
	}
	*fault = "Input should be a valid boolean";
	return NULL;
}

static cJSON *
as_string(const cJSON *property, const cJSON *value, const char **fault)
{
	const cJSON *words = cJSON_GetObjectItemCaseSensitive(property, "enum");
	const cJSON *word;

	if (!cJSON_IsString(value)) {
		*fault = "Input should be a valid string";
		return NULL;
	}
	cJSON_ArrayForEach(word, words) {
		if (strcmp(word->valuestring, value->valuestring) == 0)
			break;
	}
	if (words && !word) {
		*fault = "Input is none of the values allowed";
		return NULL;
	}
	return cJSON_CreateString(value->valuestring);
}

static cJSON *
as_type(const cJSON *property, const cJSON *value, const char **fault)
{
	if (type_is(property, "integer"))
		return as_integer(property, value, fault);
	if (type_is(property, "boolean"))
		return as_boolean(value, fault);
	return as_string(property, value, fault);
}

static bool
is_required(const cJSON *schema, const char *name)
{
	const cJSON *one;

	cJSON_ArrayForEach(one,
	    cJSON_GetObjectItemCaseSensitive(schema, "required")) {
		if (strcmp(one->valuestring, name) == 0)
			return true;
	}
	return false;
}

/* Models that learnt other tools say `path` for `file_path`. */
static const cJSON *
argument(const cJSON *args, const char *name)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(args, name);

	if (!value && strcmp(name, "file_path") == 0)
		value = cJSON_GetObjectItemCaseSensitive(args, "path");
	return value;
}

cJSON *
schema_check(const cJSON *schema, const cJSON *args, struct buf *errors)
{
	auto_json *out = cJSON_CreateObject();
	const cJSON *property;
	bool good = true;

	cJSON_ArrayForEach(property,
	    cJSON_GetObjectItemCaseSensitive(schema, "properties")) {
		const char *name = property->string, *fault = NULL;
		const cJSON *value = argument(args, name);
		bool none = cJSON_IsNull(value) && type_is(property, "null");
		cJSON *fit = NULL;
		if (value && !none)
			fit = as_type(property, value, &fault);
		else if (!value && is_required(schema, name))
			fault = "Field required";
		else
			fit = cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(
						  property, "default"),
			    true);
		if (fault) {
			buf_printf(errors, "%s: %s\n", name, fault);
			good = false;
		}
		if (fit && !cJSON_IsNull(fit))
			cJSON_AddItemToObject(out, name, fit);
		else
			cJSON_Delete(fit);
	}
	return good ? take(out) : NULL;
}
